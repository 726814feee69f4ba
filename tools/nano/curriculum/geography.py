"""Countries, their capitals, continents, money and languages; rivers, mountains and oceans."""

from __future__ import annotations

from .core import Kind, table
from .countries import COUNTRIES

RECORDS = """
longest river in Africa | the Nile
longest river in South America | the Amazon
longest river in Europe | the Volga
longest river in Asia | the Yangtze
highest mountain in the world | Mount Everest
highest mountain in Africa | Mount Kilimanjaro
highest mountain in North America | Denali
highest mountain in South America | Aconcagua
highest mountain in Japan | Mount Fuji
highest mountain of the Alps | Mont Blanc
largest ocean in the world | the Pacific Ocean
smallest ocean in the world | the Arctic Ocean
second largest ocean in the world | the Atlantic Ocean
largest continent in the world | Asia
smallest continent in the world | Australia
coldest continent in the world | Antarctica
largest country in the world | Russia
smallest country in the world | Vatican City
second largest country in the world | Canada
largest country in South America | Brazil
largest country in Africa | Algeria
largest hot desert in the world | the Sahara
largest island in the world | Greenland
largest lake in Africa | Lake Victoria
deepest lake in the world | Lake Baikal
highest waterfall in the world | Angel Falls
largest coral reef in the world | the Great Barrier Reef
largest rain forest in the world | the Amazon rain forest
largest state of the United States | Alaska
smallest state of the United States | Rhode Island
largest city in Australia | Sydney
largest city in Brazil | Sao Paulo
largest city in Canada | Toronto
largest city in the United States | New York City
largest city in Turkey | Istanbul
largest city in Switzerland | Zurich
largest city in Germany | Berlin
largest city in Italy | Rome
largest city in Spain | Madrid
largest city in Scotland | Glasgow
"""

LANDMARKS = """
the Eiffel Tower | Paris
Big Ben | London
Tower Bridge | London
the Statue of Liberty | New York City
the Colosseum | Rome
the Brandenburg Gate | Berlin
the Sagrada Familia | Barcelona
the Acropolis | Athens
the Kremlin | Moscow
the Great Sphinx | Egypt
the Taj Mahal | India
the Great Wall | China
the Golden Gate Bridge | San Francisco
the White House | Washington, D.C.
the Louvre | Paris
the Prado | Madrid
the Opera House with roofs like sails | Sydney
the Leaning Tower | Pisa
the Atomium | Brussels
the Little Mermaid | Copenhagen
the Hagia Sophia | Istanbul
the Forbidden City | Beijing
Machu Picchu | Peru
Stonehenge | England
the Grand Canyon | Arizona
Mount Fuji | Japan
the Matterhorn | Switzerland
the Charles Bridge | Prague
Petra | Jordan
Angkor Wat | Cambodia
"""

SAME_NAME = {"Djibouti", "Luxembourg", "Monaco", "San Marino", "Singapore"}


def countries() -> list[dict[str, str]]:
    return table(COUNTRIES, "subject", "capital", "continent", "currency", "language")


def known(column: str) -> list[dict[str, str]]:
    return [row for row in countries() if row[column] != "-"]


def capital_kinds() -> list[Kind]:
    capitals = known("capital")
    cities = [
        {"subject": row["capital"], "country": row["subject"]}
        for row in capitals
        if row["subject"] not in SAME_NAME | {"South Africa", "Bolivia"}
    ]
    return [
        Kind(
            "capital",
            (
                "What is the capital of {subject}?",
                "What's the capital of {subject}?",
                "Which city is the capital of {subject}?",
                "Tell me the capital of {subject}.",
                "Please name the capital of {subject}.",
                "Name the capital city of {subject}.",
                "Do you know the capital of {subject}?",
                "Can you tell me what the capital of {subject} is?",
                "I need the capital of {subject}.",
                "Capital of {subject}?",
                "What is the name of the capital of {subject}, please?",
            ),
            "The user asks for the capital of {subject}.",
            "The capital of {subject} is {capital}.",
            capitals,
        ),
        Kind(
            "capital_of",
            (
                "{subject} is the capital of which country?",
                "Of which country is {subject} the capital?",
                "Which country has the capital {subject}?",
                "What country has {subject} as its capital?",
                "Which country's capital is {subject}?",
                "Tell me which country has {subject} as its capital.",
                "Please name the country whose capital is {subject}.",
                "I know that {subject} is a capital. Of which country?",
            ),
            "The user asks which country has the capital {subject}.",
            "{subject} is the capital of {country}.",
            cities,
        ),
    ]


def country_kinds() -> list[Kind]:
    return [
        Kind(
            "continent",
            (
                "On which continent is {subject}?",
                "Which continent is {subject} in?",
                "What continent is {subject} on?",
                "Where is {subject}?",
                "Where is {subject} on the map?",
                "In which part of the world is {subject}?",
                "Tell me the continent of {subject}.",
                "Please tell me where {subject} is.",
            ),
            "The user asks on which continent {subject} is.",
            "{subject} is in {continent}.",
            known("continent"),
        ),
        Kind(
            "currency",
            (
                "What is the currency of {subject}?",
                "What's the currency of {subject}?",
                "What money is used in {subject}?",
                "Which currency does {subject} have?",
                "What currency do people use in {subject}?",
                "How do people pay in {subject}?",
                "Tell me the currency of {subject}.",
                "Please name the money of {subject}.",
            ),
            "The user asks for the currency of {subject}.",
            "The currency of {subject} is {currency}.",
            known("currency"),
        ),
    ]


def language_kinds() -> list[Kind]:
    official = [
        {**row, "language": row["language"].rstrip("*")}
        for row in countries()
        if row["language"].endswith("*")
    ]
    spoken = [{**row, "language": row["language"].rstrip("*")} for row in known("language")]
    return [
        Kind(
            "official_language",
            (
                "What is the official language of {subject}?",
                "What's the official language of {subject}?",
                "Which language is the official one in {subject}?",
                "Tell me the official language of {subject}.",
                "Please name the official language of {subject}.",
                "Do you know the official language of {subject}?",
                "Official language of {subject}?",
            ),
            "The user asks for the official language of {subject}.",
            "The official language of {subject} is {language}.",
            official,
        ),
        Kind(
            "spoken_language",
            (
                "What language do people speak in {subject}?",
                "Which language is spoken in {subject}?",
                "What do people in {subject} speak?",
                "What language do they speak in {subject}?",
                "Tell me which language people speak in {subject}.",
                "Please tell me what is spoken in {subject}.",
                "I travel to {subject}. Which language will I hear?",
            ),
            "The user asks what people speak in {subject}.",
            "People in {subject} speak {language}.",
            spoken,
        ),
    ]


def place_kinds() -> list[Kind]:
    return [
        Kind(
            "record",
            (
                "What is the {subject}?",
                "What's the {subject}?",
                "Which is the {subject}?",
                "Tell me the {subject}.",
                "Please name the {subject}.",
                "Do you know the {subject}?",
                "Can you tell me what the {subject} is?",
                "I would like to know the {subject}.",
                "What is the {subject} called?",
            ),
            "The user asks for the {subject}.",
            "The {subject} is {answer}.",
            table(RECORDS, "subject", "answer"),
        ),
        Kind(
            "landmark",
            (
                "Where is {subject}?",
                "Where can I see {subject}?",
                "Where do I find {subject}?",
                "In which place is {subject}?",
                "Tell me where {subject} is.",
                "Please tell me where {subject} stands.",
                "I want to visit {subject}. Where is it?",
                "Do you know where {subject} is?",
            ),
            "The user asks where {subject} is.",
            "{subject} is in {place}.",
            table(LANDMARKS, "subject", "place"),
        ),
    ]


def kinds() -> list[Kind]:
    return [*capital_kinds(), *country_kinds(), *language_kinds(), *place_kinds()]
