"""Numbers in words and plural endings, for the kinds that count."""

from __future__ import annotations

SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def in_words(number: int) -> str:
    """For 0 to 100."""
    if number < 20:
        return SMALL[number]
    if number == 100:
        return "one hundred"
    tens = TENS[number // 10 - 2]
    return tens if number % 10 == 0 else f"{tens}-{SMALL[number % 10]}"


def counted(number: int, noun: str) -> str:
    """ "1 apple", "2 apples"; the noun is the plural in s."""
    return f"{number} {noun[:-1] if number == 1 else noun}"
