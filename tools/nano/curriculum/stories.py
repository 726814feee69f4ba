"""Short stories from plots: a topic decides plot and details, so that a story can be learned."""

from __future__ import annotations

from .core import Kind, article, sentence, share_of

GIRLS = "Anna Emma Lucy Mia Sara Nina Rosa Ella Clara Julia".split()
BOYS = "Tom Ben Leo Max Paul Adam Sam Felix Oscar Noah".split()
STORIES_WITH_NAME = 8  # for each topic, besides the one without a name in the question

ANIMALS = (
    "dog cat horse rabbit bird mouse fox bear duck frog hedgehog squirrel owl sheep goat pig cow "
    "donkey elephant lion turtle fish bee kitten puppy parrot penguin swan snail lamb"
).split()
THINGS = (
    "ball book kite boat key lamp hat bicycle clock pencil doll drum balloon basket box letter "
    "map umbrella mirror bell coin shoe scarf train"
).split()
PLACES = "forest garden lake castle farm school beach market mountain river island library".split()
PEOPLE = (
    "baker farmer sailor teacher king queen doctor gardener pilot painter fisherman shepherd"
).split()

SPOTS = (
    "near the old bridge", "behind the house", "at the edge of the village", "by the river",
    "under a big tree", "next to the school", "at the foot of a hill", "in a quiet street",
)
COLORS = "red blue green yellow brown white black gray".split()
GIFTS = "a piece of bread|an apple|a bowl of milk|a warm blanket|some nuts|a carrot".split("|")

ANIMAL_PLOTS = (
    "One day {name} found a small {color} {topic} {spot}. The {topic} was hungry and cold. {name} "
    "gave it {gift} and took it home. From that day on, {name} and the {topic} were friends.",
    "Once there was {a_topic} that lived {spot}. It was afraid of the dark. {name} put a little "
    "lamp in front of its home. Now the {topic} sleeps well every night.",
    "{name} had {a_topic} with a {color} ribbon. One morning the {topic} was gone. {name} looked "
    "for it everywhere and found it {spot}. {He} was so happy that {he} laughed and cried.",
    "The {topic} wanted to see the world. It walked all day and came to a place {spot}. There it "
    "met {name}, who gave it {gift}. In the evening {name} showed the {topic} the way home.",
    "{name} and the {topic} played {spot}. Suddenly it began to rain. They ran under a {color} "
    "roof and waited together. When the sun came back, they saw a rainbow.",
    "The {topic} was sad because it had no friends. {name} sat down beside it {spot} and told it a "
    "joke. The {topic} felt better at once. The next day {name} came back with {gift}.",
)
THING_PLOTS = (
    "{name} found an old {topic} {spot}. It was dirty, so {he} cleaned it and painted it {color}. "
    "Everybody liked the {topic}. {name} kept it for many years.",
    "{name} lost {his} {color} {topic} {spot}. {He} looked for it all day. In the evening a friend "
    "brought it back. {name} thanked the friend with {gift}.",
    "For {his} birthday {name} got a {color} {topic}. {He} showed it to all {his} friends. They "
    "played with it {spot} until it was dark. It was the best day of the year.",
    "There was {a_topic} that nobody wanted. It lay {spot} in the rain. {name} took it home and "
    "dried it. Now the {color} {topic} has a place by the window.",
    "{name} wanted {a_topic} but had no money. So {he} worked {spot} every day. After a week {he} "
    "could buy a {color} one. {name} was very proud of it.",
    "{name} and a friend both wanted the {color} {topic}. They quarreled {spot}. Then {name} said: "
    "Let us share it. So each of them had the {topic} for one day, and they were friends again.",
)
PLACE_PLOTS = (
    "{name} went to the {topic} alone. After an hour {he} did not know the way back. A {color} "
    "bird flew in front of {him} and led {him} home. {name} thanked it with {gift}.",
    "{name} loved the {topic} more than any other place. One day {he} found a {color} box there. "
    "In the box was a letter from an old friend. {name} read it again and again.",
    "Every summer {name} visited the {topic} with {his} family. This year {he} met a new friend "
    "there. They shared {gift} and talked all day. In the evening they did not want to go home.",
    "The {topic} was dirty and nobody came any more. {name} cleaned a little of it every day. Soon "
    "others came to help. Now the {topic} is beautiful again.",
)
PEOPLE_PLOTS = (
    "Once there was {a_topic} who worked from morning to night. One day {name} came and brought "
    "{gift}. The {topic} rested for the first time. After that they met every Sunday.",
    "The {topic} had lost a {color} ring {spot}. {name} helped to look for it. Together they found "
    "it in the grass. The {topic} gave {name} {gift} and a big smile.",
    "{name} wanted to become {a_topic}. {He} went to the old {topic} {spot} and asked to learn. "
    "For three years {he} worked hard. Then {name} was the best {topic} in the country.",
    "The {topic} lived alone in a {color} house {spot}. Then the birthday of the {topic} came. "
    "Only {name} knew it and baked a cake. The {topic} never forgot that day.",
)

CLASSES = (
    (ANIMALS, ANIMAL_PLOTS), (THINGS, THING_PLOTS), (PLACES, PLACE_PLOTS), (PEOPLE, PEOPLE_PLOTS),
)


def pick(choices: tuple[str, ...] | list[str], *parts: str) -> str:
    return choices[int(share_of("story", *parts) * len(choices))]


def story_row(topic: str, plots: tuple[str, ...], name: str) -> dict[str, str]:
    girl = name in GIRLS
    fields = {
        "topic": topic,
        "a_topic": article(topic),
        "name": name,
        "he": "she" if girl else "he",
        "He": "She" if girl else "He",
        "his": "her" if girl else "his",
        "him": "her" if girl else "him",
        "color": pick(COLORS, topic, "color"),
        "spot": pick(SPOTS, topic, "spot"),
        "gift": pick(GIFTS, topic, "gift"),
    }
    story = sentence(pick(plots, topic, "plot"), fields)
    return {"subject": topic, "a_topic": article(topic), "name": name, "story": story}


def story_rows(named: bool) -> list[dict[str, str]]:
    rows = []
    for topics, plots in CLASSES:
        for topic in topics:
            names = sorted(GIRLS + BOYS, key=lambda name: share_of("story", topic, name))
            for name in names[1 : 1 + STORIES_WITH_NAME] if named else names[:1]:
                row = story_row(topic, plots, name)
                rows.append({**row, "subject": f"{name} and {topic}"} if named else row)
    return rows


def kinds() -> list[Kind]:
    rows = story_rows(named=False)
    first = {
        "subject": "any",
        "a_topic": "anything",
        "story": rows[0]["story"],
        "prompts": "Tell me a story. / Please tell me a story. / Can you tell me a story? / "
        "I want to hear a story. / Tell a story. / Do you know a story? / A story, please.",
    }
    return [
        Kind(
            "story",
            (
                "Tell me a story about {a_topic}.",
                "Please tell me a story about {a_topic}.",
                "Can you tell me a story about {a_topic}?",
                "I want to hear a story about {a_topic}.",
                "Tell a story about {a_topic}.",
                "Write a short story about {a_topic}.",
                "Do you know a story about {a_topic}?",
                "A story about {a_topic}, please.",
            ),
            "The user wants to hear a short story about {a_topic}.",
            "{story}",
            [*rows, first],
            scored=False,
        ),
        Kind(
            "story_with_name",
            (
                "Tell me a story about {name} and {a_topic}.",
                "Please tell me a story about {name} and {a_topic}.",
                "Can you tell me a story about {name} and {a_topic}?",
                "Write a short story about {name} and {a_topic}.",
                "Tell a story with {name} and {a_topic}.",
            ),
            "The user wants a short story about {name} and {a_topic}.",
            "{story}",
            story_rows(named=True),
            limit=2,
            scored=False,
        ),
    ]
