"""Kinds about the calendar, measures, animals, things, science and people."""

from __future__ import annotations

from . import facts, people
from .core import Kind, article, table


def calendar_kinds() -> list[Kind]:
    days, months = facts.DAYS, facts.MONTHS
    follow = [*zip(days, days[1:] + days[:1]), *zip(months, months[1:] + months[:1])]
    return [
        Kind(
            "after",
            (
                "What comes after {subject}?",
                "What follows {subject}?",
                "Which {unit} comes after {subject}?",
                "Which {unit} follows {subject}?",
                "What is the {unit} after {subject}?",
                "Tell me which {unit} comes after {subject}.",
                "Please name the {unit} that comes after {subject}.",
            ),
            "The user asks for the {unit} that follows {subject}.",
            "{next} comes after {subject}.",
            [
                {"subject": a, "next": b, "unit": "day" if a in days else "month"}
                for a, b in follow
            ],
        ),
        Kind(
            "before",
            (
                "What comes before {subject}?",
                "Which {unit} comes before {subject}?",
                "Which {unit} is right before {subject}?",
                "What is the {unit} before {subject}?",
                "Tell me which {unit} comes before {subject}.",
                "Please name the {unit} that comes before {subject}.",
            ),
            "The user asks for the {unit} just before {subject}.",
            "{previous} comes before {subject}.",
            [
                {"subject": b, "previous": a, "unit": "day" if a in days else "month"}
                for a, b in follow
            ],
        ),
    ]


def ordinal_kinds() -> list[Kind]:
    months = facts.MONTHS
    numbered = list(zip(facts.ORDINALS, months))
    return [
        Kind(
            "month_days",
            (
                "How many days has {subject}?",
                "How many days does {subject} have?",
                "How many days are in {subject}?",
                "How many days are there in {subject}?",
                "How long is {subject}?",
                "Tell me how many days {subject} has.",
            ),
            "The user asks for the number of days in {subject}.",
            "{subject} has {days}.",
            [
                {"subject": m, "days": f"{d} days" if d > 28 else "28 days, or 29 in a leap year"}
                for m, d in zip(months, facts.MONTH_DAYS)
            ],
        ),
        Kind(
            "month_number",
            (
                "Which month is the {ordinal} of the year?",
                "What is the {ordinal} month?",
                "What is the {ordinal} month of the year?",
                "Which is the {ordinal} month?",
                "Tell me the {ordinal} month of the year.",
                "Please name the {ordinal} month.",
            ),
            "The user asks for month number {number} of the year.",
            "The {ordinal} month is {subject}.",
            [
                {"subject": m, "ordinal": o, "number": str(i)}
                for i, (o, m) in enumerate(numbered, 1)
            ],
        ),
        Kind(
            "planet_number",
            (
                "Which planet is the {ordinal} from the sun?",
                "What is the {ordinal} planet from the sun?",
                "What is the {ordinal} planet?",
                "Which is the {ordinal} planet of the solar system?",
                "Tell me the {ordinal} planet from the sun.",
                "Please name the {ordinal} planet.",
            ),
            "The user asks for planet number {number} from the sun.",
            "The {ordinal} planet from the sun is {subject}.",
            [
                {"subject": p, "ordinal": o, "number": str(i)}
                for i, (o, p) in enumerate(zip(facts.ORDINALS, facts.PLANETS), 1)
            ],
        ),
    ]


def measure_kinds() -> list[Kind]:
    units = [
        {**row, "subject": f"{row['parts']} in {row['whole']}"}
        for row in table(facts.UNITS, "whole", "parts", "count")
    ]
    return [
        Kind(
            "unit",
            (
                "How many {parts} are in {whole}?",
                "How many {parts} has {whole}?",
                "How many {parts} does {whole} have?",
                "How many {parts} are there in {whole}?",
                "Tell me how many {parts} are in {whole}.",
                "Please tell me how many {parts} {whole} has.",
                "Do you know how many {parts} {whole} has?",
            ),
            "The user asks how many {parts} are in {whole}.",
            "{whole} has {count} {parts}.",
            units,
        ),
        Kind(
            "sides",
            (
                "How many sides does {subject} have?",
                "How many sides has {subject}?",
                "How many corners does {subject} have?",
                "Tell me how many sides {subject} has.",
                "What is the number of sides of {subject}?",
            ),
            "The user asks for the number of sides of {subject}.",
            "{subject} has {sides} sides and {sides} corners.",
            table(facts.SHAPES, "subject", "sides"),
        ),
    ]


def animal_kinds() -> list[Kind]:
    return [
        Kind(
            "sound",
            (
                "What sound does {subject} make?",
                "Which sound does {subject} make?",
                "What noise does {subject} make?",
                "How does {subject} sound?",
                "Tell me what sound {subject} makes.",
                "What does {subject} do to be heard?",
            ),
            "The user asks for the sound of {subject}.",
            "{subject} {sound}.",
            table(facts.SOUNDS, "subject", "sound"),
        ),
        Kind(
            "young",
            (
                "What is the young of {subject} called?",
                "What do you call the young of {subject}?",
                "What do you call the baby of {subject}?",
                "What is the baby of {subject} called?",
                "What is the right name for the young of {subject}?",
                "Tell me the name for the young of {subject}.",
            ),
            "The user asks for the name of the young of {subject}.",
            "The young of {subject} is called {young}.",
            table(facts.YOUNG, "subject", "young"),
        ),
        Kind(
            "home",
            (
                "Where does {subject} live?",
                "Where can {subject} be found?",
                "Where is the home of {subject}?",
                "In what place does {subject} live?",
                "Tell me where {subject} lives.",
            ),
            "The user asks where {subject} lives.",
            "{subject} lives {home}.",
            table(facts.HOMES, "subject", "home"),
        ),
        Kind(
            "food",
            (
                "What does {subject} eat?",
                "What is the food of {subject}?",
                "What does {subject} like to eat?",
                "Which food does {subject} eat?",
                "Tell me what {subject} eats.",
            ),
            "The user asks what {subject} eats.",
            "{subject} eats {food}.",
            table(facts.FOODS, "subject", "food"),
        ),
        Kind(
            "legs",
            (
                "How many legs does {subject} have?",
                "How many legs has {subject}?",
                "Tell me how many legs {subject} has.",
                "What is the number of legs of {subject}?",
                "Do you know how many legs {subject} has?",
            ),
            "The user asks for the number of legs of {subject}.",
            "{subject} has {legs} legs.",
            table(facts.LEGS, "subject", "legs"),
        ),
    ]


def science_kinds() -> list[Kind]:
    elements = table(facts.ELEMENTS, "subject", "symbol", "number")
    return [
        Kind(
            "symbol",
            (
                "What is the chemical symbol of {subject}?",
                "What is the symbol for {subject}?",
                "What's the chemical symbol for {subject}?",
                "Which symbol does the element {subject} have?",
                "Tell me the chemical symbol of {subject}.",
                "Please name the symbol of the element {subject}.",
            ),
            "The user asks for the chemical symbol of {subject}.",
            "The chemical symbol of {subject} is {symbol}.",
            elements,
        ),
        Kind(
            "element",
            (
                "Which element has the symbol {symbol}?",
                "What element has the symbol {symbol}?",
                "Which element is {symbol}?",
                "What does {symbol} stand for in chemistry?",
                "Tell me the element with the symbol {symbol}.",
            ),
            "The user asks for the element with the symbol {symbol}.",
            "The element with the symbol {symbol} is {subject}.",
            elements,
        ),
        Kind(
            "atomic_number",
            (
                "What is the atomic number of {subject}?",
                "Which atomic number does {subject} have?",
                "How many protons does an atom of {subject} have?",
                "Tell me the atomic number of {subject}.",
                "Please name the atomic number of {subject}.",
            ),
            "The user asks for the atomic number of {subject}.",
            "The atomic number of {subject} is {number}.",
            elements,
        ),
    ]


def fact_kinds() -> list[Kind]:
    return [
        Kind(
            "fact",
            (
                "What is {subject}?",
                "What's {subject}?",
                "Tell me {subject}.",
                "Please name {subject}.",
                "Do you know {subject}?",
                "Can you tell me what {subject} is?",
                "I would like to know {subject}.",
            ),
            "The user asks for {subject}.",
            "{subject} is {answer}.",
            table(facts.FACTS, "subject", "answer"),
        ),
        Kind(
            "list",
            (
                "What are {subject}?",
                "Name {subject}.",
                "List {subject}.",
                "Tell me {subject}.",
                "Which are {subject}?",
                "Can you name {subject}?",
                "Please list {subject}.",
            ),
            "The user wants a list of {subject}.",
            "{subject} are {members}.",
            table(facts.LISTS, "subject", "members"),
        ),
        Kind(
            "why",
            (
                "Why {question}?",
                "Tell me why {subject}.",
                "Can you tell me why {subject}?",
                "Do you know why {subject}?",
                "Please explain why {subject}.",
                "What is the reason that {subject}?",
                "How come {subject}?",
            ),
            "The user asks for the reason that {subject}.",
            "{answer}",
            table(facts.REASONS, "question", "subject", "answer"),
        ),
    ]


def thing_kinds() -> list[Kind]:
    uses = table(facts.USES + facts.BODY.lstrip(), "subject", "use")
    return [
        Kind(
            "color",
            (
                "What color is {subject}?",
                "Please tell me which color {subject} has.",
                "What is the color of {subject}?",
                "Tell me the color of {subject}.",
                "Which color does {subject} have?",
                "What colour is {subject}?",
            ),
            "The user asks for the color of {subject}.",
            "{subject} is {color}.",
            table(facts.COLORS, "subject", "color"),
        ),
        Kind(
            "use",
            (
                "What do you use {subject} for?",
                "What do people use {subject} for?",
                "What do we use {subject} for?",
                "Why do people need {subject}?",
                "Tell me what people use {subject} for.",
                "What can I use {subject} for?",
            ),
            "The user asks what people use {subject} for.",
            "People use {subject} {use}.",
            uses,
        ),
        Kind(
            "made_of",
            (
                "What is {subject} made of?",
                "What is {subject} made from?",
                "Which material is {subject} made of?",
                "Tell me what {subject} is made of.",
                "Do you know what {subject} is made of?",
            ),
            "The user asks what {subject} is made of.",
            "{subject} is made of {material}.",
            table(facts.MADE_OF, "subject", "material"),
        ),
    ]


def maker_kind(name: str, verb: str, noun: str, author: str, rows: str) -> Kind:
    """Who made what: the four kinds of works have the same questions."""
    return Kind(
        name,
        (
            f"Who {verb} {{subject}}?",
            f"Who is the {author} of {{subject}}?",
            f"Please name the {author} of {{subject}}.",
            f"Tell me who {verb} {{subject}}.",
            f"Do you know who {verb} {{subject}}?",
            f"Can you name the {author} of {{subject}}?",
            f"{{subject}} is {article(noun)} by whom?",
        ),
        f"The user asks who {verb} {{subject}}.",
        f"{{maker}} {verb} {{subject}}.",
        table(rows, "subject", "maker"),
    )


def people_kinds() -> list[Kind]:
    return [
        maker_kind("book", "wrote", "book", "author", people.BOOKS),
        maker_kind("painting", "painted", "painting", "painter", people.PAINTINGS),
        maker_kind("music", "composed", "piece", "composer", people.MUSIC),
        maker_kind("invention", "invented", "invention", "inventor", people.INVENTIONS),
        Kind(
            "deed",
            (
                "Who {subject}?",
                "Tell me who {subject}.",
                "Do you know who {subject}?",
                "Can you tell me who {subject}?",
                "Please name the person who {subject}.",
                "Which person {subject}?",
            ),
            "The user asks who {subject}.",
            "{name} {subject}.",
            table(people.DEEDS, "subject", "name"),
        ),
    ]


def kinds() -> list[Kind]:
    return [
        *calendar_kinds(),
        *ordinal_kinds(),
        *measure_kinds(),
        *animal_kinds(),
        *science_kinds(),
        *fact_kinds(),
        *thing_kinds(),
        *people_kinds(),
    ]
