"""Small word problems with people and things, and with the clock."""

from __future__ import annotations

from .core import Kind, share_of
from .numbers import counted

PROBLEMS = 1200

GIRLS = "Anna Emma Lucy Maria Sara Nina Olivia Rosa Julia Clara".split()
BOYS = "Tom Ben Paul Max Leo Adam David Oscar Peter Sam".split()
OBJECTS = "apples books cards coins pencils stones eggs shells balloons stamps".split()


def problem_row(number: int, more: bool) -> dict[str, str]:
    """The facts of one word problem; a hash of its number decides them."""
    sign = "more" if more else "less"

    def draw(what: str, count: int) -> int:
        return int(share_of("problem", sign, what, str(number)) * count)

    name = (GIRLS + BOYS)[draw("name", len(GIRLS + BOYS))]
    noun = OBJECTS[draw("noun", len(OBJECTS))]
    a = 2 + draw("a", 11)
    b = 1 + draw("b", 10 if more else a - 1)
    result = a + b if more else a - b
    return {
        "subject": f"{name}: {a} {noun} and {b} {sign}",
        "name": name,
        "pronoun": "she" if name in GIRLS else "he",
        "a": counted(a, noun),
        "b": str(b),
        "result": counted(result, noun),
        "noun": noun,
        "steps": f"{a} {'+' if more else '-'} {b} = {result}",
    }


def problem_kinds() -> list[Kind]:
    def rows(more: bool) -> list[dict[str, str]]:
        found = {row["subject"]: row for row in (problem_row(n, more) for n in range(PROBLEMS))}
        return list(found.values())

    return [
        Kind(
            "problem_more",
            (
                "{name} has {a} and gets {b} more. How many {noun} does {pronoun} have now?",
                "{name} has {a}. Then {pronoun} finds {b} more. How many {noun} are there now?",
                "{name} had {a}. A friend gave {name} {b} more. How many {noun} does {name} have?",
                "{name} buys {b} more {noun}. Before that {pronoun} had {a}. How many are there?",
            ),
            "There are more {noun} in the end, so add: {steps}.",
            "{name} has {result}.",
            rows(True),
            limit=3,
        ),
        Kind(
            "problem_less",
            (
                "{name} has {a} and loses {b}. How many {noun} does {pronoun} have now?",
                "{name} has {a}. Then {pronoun} gives away {b}. How many {noun} are left?",
                "{name} had {a}. A friend took {b} of them. How many {noun} does {name} have?",
                "{name} sells {b} of {a}. How many {noun} does {pronoun} keep?",
            ),
            "There are fewer {noun} in the end, so subtract: {steps}.",
            "{name} has {result}.",
            rows(False),
            limit=3,
        ),
    ]


def clock_kinds() -> list[Kind]:
    rows = []
    for now in range(1, 13):
        for hours in range(1, 7):
            rows.append(
                {
                    "subject": f"{now} o'clock and {hours}",
                    "now": str(now),
                    "hours": counted(hours, "hours"),
                    "then": str((now + hours - 1) % 12 + 1),
                }
            )
    return [
        Kind(
            "clock",
            (
                "It is {now} o'clock. What time is it in {hours}?",
                "What time is it {hours} after {now} o'clock?",
                "It is {now} o'clock now. What time will it be in {hours}?",
                "Which time is {hours} later than {now} o'clock?",
                "I start at {now} o'clock and need {hours}. When do I finish?",
            ),
            "Count {hours} on from {now} on the clock: {then}.",
            "It will be {then} o'clock.",
            rows,
        )
    ]


def kinds() -> list[Kind]:
    return [*problem_kinds(), *clock_kinds()]
