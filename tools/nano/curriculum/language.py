"""Letters and forms of words: spelling, length, plurals, past tenses, comparison."""

from __future__ import annotations

import re

from .common_words import MEANINGS
from .core import Kind, article, table

TRICKY = """
because beautiful friend people their which through enough tomorrow yesterday february wednesday
believe receive beginning business calendar cemeteryColumn committee definitely different
disappear environment exercise experience favorite foreign government grammar guarantee height
immediately independent interesting island knowledge library license lightning necessary neighbor
occasion opinion parallel particular piece possible probably pronounce psychology quiet quite
really recommend restaurant rhythm science secretary separate sincerely special successful
surprise temperature thought together truly until vacuum vegetable weather weird whether
""".split()

IRREGULAR_PLURALS = """
child children / man men / woman women / foot feet / tooth teeth / goose geese / mouse mice
ox oxen / person people / sheep sheep / fish fish / deer deer / leaf leaves / knife knives
wife wives / life lives / wolf wolves / half halves / shelf shelves / thief thieves / loaf loaves
calf calves / elf elves / scarf scarves / potato potatoes / tomato tomatoes / hero heroes
echo echoes / crisis crises / cactus cacti / louse lice / die dice / penny pennies / piano pianos
photo photos / roof roofs / series series / species species / policeman policemen
"""

REGULAR_NOUNS = """
apple book car cat dog house tree bird boy girl table chair door window cow horse flower garden
street school teacher student friend brother sister river mountain lake cloud star boat train
box bus class dish dress fox glass church watch bench brush wish peach beach match witch ash
baby city country family lady party story berry cherry puppy pony fly spy body copy army
day key toy monkey boy donkey valley way play tray ray
""".split()

IRREGULAR_VERBS = """
be was been / become became become / begin began begun / bend bent bent / bite bit bitten
blow blew blown / break broke broken / bring brought brought / build built built
buy bought bought / catch caught caught / choose chose chosen / come came come / cost cost cost
cut cut cut / dig dug dug / do did done / draw drew drawn / drink drank drunk / drive drove driven
eat ate eaten / fall fell fallen / feed fed fed / feel felt felt / fight fought fought
find found found / fly flew flown / forget forgot forgotten / forgive forgave forgiven
freeze froze frozen / get got got / give gave given / go went gone / grow grew grown
hang hung hung / have had had / hear heard heard / hide hid hidden / hit hit hit / hold held held
hurt hurt hurt / keep kept kept / know knew known / lay laid laid / lead led led / leave left left
lend lent lent / let let let / lie lay lain / light lit lit / lose lost lost / make made made
mean meant meant / meet met met / pay paid paid / put put put / read read read / ride rode ridden
ring rang rung / rise rose risen / run ran run / say said said / see saw seen / sell sold sold
send sent sent / set set set / shake shook shaken / shine shone shone / shoot shot shot
shut shut shut / sing sang sung / sink sank sunk / sit sat sat / sleep slept slept
speak spoke spoken / spend spent spent / stand stood stood / steal stole stolen
stick stuck stuck / swim swam swum / swing swung swung / take took taken / teach taught taught
tear tore torn / tell told told / think thought thought / throw threw thrown
understand understood understood / wake woke woken / wear wore worn / win won won
write wrote written
"""

REGULAR_VERBS = """
walk walked / play played / talk talked / work worked / jump jumped / look looked / help helped
ask asked / call called / clean cleaned / cook cooked / open opened / paint painted / wash washed
watch watched / want wanted / need needed / start started / end ended / wait waited / like liked
love loved / live lived / move moved / hope hoped / close closed / dance danced / smile smiled
stop stopped / plan planned / drop dropped / clap clapped / hug hugged / rob robbed / beg begged
cry cried / try tried / carry carried / hurry hurried / marry married / study studied / fry fried
enjoy enjoyed / stay stayed / pray prayed / laugh laughed / listen listened / travel traveled
visit visited / answer answered
"""

COMPARATIVES = """
good better best / bad worse worst / far farther farthest / big bigger biggest
small smaller smallest / tall taller tallest / short shorter shortest / long longer longest
old older oldest / young younger youngest / new newer newest / fast faster fastest
slow slower slowest / high higher highest / low lower lowest / hot hotter hottest
cold colder coldest / warm warmer warmest / cool cooler coolest / hard harder hardest
soft softer softest / strong stronger strongest / weak weaker weakest / rich richer richest
poor poorer poorest / cheap cheaper cheapest / clean cleaner cleanest / dark darker darkest
light lighter lightest / deep deeper deepest / wide wider widest / large larger largest
nice nicer nicest / late later latest / safe safer safest / brave braver bravest
happy happier happiest / easy easier easiest / heavy heavier heaviest / busy busier busiest
funny funnier funniest / pretty prettier prettiest / early earlier earliest / dry drier driest
lucky luckier luckiest / angry angrier angriest / thin thinner thinnest / fat fatter fattest
wet wetter wettest / sad sadder saddest / loud louder loudest / quick quicker quickest
sweet sweeter sweetest / thick thicker thickest / smart smarter smartest / kind kinder kindest
great greater greatest / near nearer nearest / proud prouder proudest / sharp sharper sharpest
"""


def groups(text: str) -> list[list[str]]:
    return [group.split() for group in text.replace("\n", "/").split("/") if group.strip()]


def plural(noun: str) -> str:
    """The regular one."""
    if re.search("[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search("(?:s|x|z|ch|sh)$", noun) else "s")


def spelling_rows() -> list[dict[str, str]]:
    words = [row["subject"] for row in table(MEANINGS, "subject", "gloss")]
    return [
        {
            "subject": word,
            "letters": "-".join(word),
            "count": str(len(word)),
            "first": word[0],
            "last": word[-1],
        }
        for word in dict.fromkeys(words + TRICKY)
    ]


def spelling_kinds() -> list[Kind]:
    rows = spelling_rows()
    return [
        Kind(
            "spelling",
            (
                "How do you spell '{subject}'?",
                "How do you spell {subject}?",
                'How is "{subject}" spelled?',
                "Spell {subject}.",
                "Please spell the word {subject}.",
                "Can you spell {subject}?",
                "How do I spell the word {subject}?",
                "Spell the word {subject} for me.",
            ),
            "The user wants the letters of {subject} with dashes between them.",
            "The word {subject} is spelled {letters}.",
            rows,
        ),
        Kind(
            "letter_count",
            (
                "How many letters does {subject} have?",
                "How many letters are in {subject}?",
                "How many letters are there in the word {subject}?",
                "How long is the word {subject}?",
                "Count the letters of {subject}.",
                "Please count the letters in the word {subject}.",
            ),
            "Spell it and count the letters: {letters}.",
            "The word {subject} has {count} letters.",
            rows,
        ),
        Kind(
            "first_letter",
            (
                "What is the first letter of {subject}?",
                "Which letter does {subject} begin with?",
                "What letter does the word {subject} start with?",
                "Tell me the first letter of {subject}.",
                "With which letter does {subject} begin?",
            ),
            "Spell it and take the first letter: {letters}.",
            "The word {subject} begins with {first}.",
            rows,
            limit=4,
        ),
        Kind(
            "last_letter",
            (
                "What is the last letter of {subject}?",
                "Which letter does {subject} end with?",
                "What letter does the word {subject} end in?",
                "Tell me the last letter of {subject}.",
                "With which letter does {subject} end?",
            ),
            "Spell it and take the last letter: {letters}.",
            "The word {subject} ends with {last}.",
            rows,
            limit=4,
        ),
    ]


def noun_kinds() -> list[Kind]:
    plurals = dict(groups(IRREGULAR_PLURALS))
    for noun in REGULAR_NOUNS:
        plurals.setdefault(noun, plural(noun))
    rows = [
        {"subject": noun, "plural": form, "a_noun": article(noun)} for noun, form in plurals.items()
    ]
    return [
        Kind(
            "plural",
            (
                "What is the plural of {subject}?",
                "What's the plural of {subject}?",
                "Tell me the plural of {subject}.",
                "Which word is the plural of {subject}?",
                "What do you call more than one {subject}?",
                "Please name the plural of the word {subject}.",
                "One {subject}, two what?",
            ),
            "The user asks for the word for more than one {subject}.",
            "The plural of {subject} is {plural}.",
            rows,
        ),
        Kind(
            "article",
            (
                "Do I write a or an before {subject}?",
                "Is it a or an in front of the word {subject}?",
                "Which article does {subject} need, a or an?",
                "Does {subject} need a or an?",
            ),
            "What counts is the sound with which {subject} begins.",
            "It is {a_noun}.",
            rows,
        ),
    ]


def verb_kinds() -> list[Kind]:
    irregular = groups(IRREGULAR_VERBS)
    pasts = [{"subject": verb, "past": past} for verb, past, _ in irregular]
    pasts += [{"subject": verb, "past": past} for verb, past in groups(REGULAR_VERBS)]
    participles = [{"subject": verb, "participle": last} for verb, _, last in irregular]
    return [
        Kind(
            "past_tense",
            (
                "What is the past tense of {subject}?",
                "What's the past tense of {subject}?",
                "Tell me the past tense of {subject}.",
                "Which form is the past tense of to {subject}?",
                "What is the past of the verb {subject}?",
                "Please name the past tense of {subject}.",
                "Past tense of {subject}?",
            ),
            "The user asks for the past tense of the verb {subject}.",
            "The past tense of {subject} is {past}.",
            pasts,
        ),
        Kind(
            "participle",
            (
                "What is the past participle of {subject}?",
                "Tell me the past participle of {subject}.",
                "Which form is the past participle of to {subject}?",
                "Please name the past participle of {subject}.",
                "Past participle of {subject}?",
            ),
            "The user asks for the past participle of the verb {subject}.",
            "The past participle of {subject} is {participle}.",
            participles,
        ),
    ]


def adjective_kinds() -> list[Kind]:
    rows = [
        {"subject": word, "more": more, "most": most} for word, more, most in groups(COMPARATIVES)
    ]
    return [
        Kind(
            "comparative",
            (
                "What is the comparative of {subject}?",
                "Tell me the comparative of {subject}.",
                "Which word is the comparative of {subject}?",
                "Please name the comparative form of {subject}.",
                "What is the comparative form of the word {subject}?",
            ),
            "The user asks for the comparative of the adjective {subject}.",
            "The comparative of {subject} is {more}.",
            rows,
        ),
        Kind(
            "superlative",
            (
                "What is the superlative of {subject}?",
                "Tell me the superlative of {subject}.",
                "Which word is the superlative of {subject}?",
                "Please name the superlative form of {subject}.",
                "What is the superlative form of the word {subject}?",
            ),
            "The user asks for the superlative of the adjective {subject}.",
            "The superlative of {subject} is {most}.",
            rows,
        ),
    ]


def kinds() -> list[Kind]:
    return [*spelling_kinds(), *noun_kinds(), *verb_kinds(), *adjective_kinds()]
