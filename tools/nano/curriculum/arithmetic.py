"""Sums with two numbers and comparisons; the reasoning has the steps."""

from __future__ import annotations

from .core import Kind, share_of
from .numbers import in_words

SUMS = 4000
DIFFERENCES = 3000
COMPARISONS = 1000


def sample(pairs: list[tuple[int, int]], count: int, name: str) -> list[tuple[int, int]]:
    """All pairs with small numbers, and of the others as many as are missing."""
    ranked = sorted(
        pairs, key=lambda pair: (max(pair) > 12, share_of(name, str(pair[0]), str(pair[1])))
    )
    return sorted(ranked[:count])


def addition_steps(a: int, b: int) -> str:
    tens, ones = a // 10 * 10 + b // 10 * 10, a % 10 + b % 10
    if a < 10 and b < 10:
        return f"Add the ones: {a} + {b} = {a + b}."
    return (
        f"{a // 10 * 10} + {b // 10 * 10} = {tens}. {a % 10} + {b % 10} = {ones}. "
        f"{tens} + {ones} = {a + b}."
    )


def subtraction_steps(a: int, b: int) -> str:
    tens = b // 10 * 10
    if tens == 0:
        return f"Take away the ones: {a} - {b} = {a - b}."
    return f"{a} - {tens} = {a - tens}. {a - tens} - {b % 10} = {a - b}."


def multiplication_steps(a: int, b: int) -> str:
    if a > 10 and b > 0:
        rest = a - 10
        return f"10 x {b} = {10 * b}. {rest} x {b} = {rest * b}. {10 * b} + {rest * b} = {a * b}."
    return f"The user asks for {a} times {b}. {a} x {b} = {a * b}."


def pair_row(a: int, b: int, result: int, steps: str) -> dict[str, str]:
    return {
        "subject": f"{a} and {b}",
        "a": str(a),
        "b": str(b),
        "result": str(result),
        "steps": steps,
    }


def sum_kinds() -> list[Kind]:
    everything = [(a, b) for a in range(100) for b in range(100)]
    ordered = [(a, b) for a, b in everything if a >= b]
    return [
        Kind(
            "addition",
            (
                "What is {a} + {b}?",
                "What is {a} plus {b}?",
                "How much is {a} + {b}?",
                "How much is {a} plus {b}?",
                "{a} + {b} = ?",
                "{a}+{b}",
                "Calculate {a} + {b}.",
                "Add {a} and {b}.",
                "Please add {b} to {a}.",
                "What's {a} + {b}?",
                "What is the sum of {a} and {b}?",
                "Can you tell me what {a} plus {b} is?",
            ),
            "{steps}",
            "{a} + {b} = {result}.",
            [pair_row(a, b, a + b, addition_steps(a, b)) for a, b in sample(everything, SUMS, "+")],
            limit=3,
        ),
        Kind(
            "subtraction",
            (
                "What is {a} - {b}?",
                "What is {a} minus {b}?",
                "How much is {a} - {b}?",
                "How much is {a} minus {b}?",
                "{a} - {b} = ?",
                "{a}-{b}",
                "Calculate {a} - {b}.",
                "Subtract {b} from {a}.",
                "Please take {b} away from {a}.",
                "What's {a} - {b}?",
                "What is the difference of {a} and {b}?",
                "Can you tell me what {a} minus {b} is?",
            ),
            "{steps}",
            "{a} - {b} = {result}.",
            [
                pair_row(a, b, a - b, subtraction_steps(a, b))
                for a, b in sample(ordered, DIFFERENCES, "-")
            ],
            limit=3,
        ),
    ]


def word_sum_kind() -> Kind:
    rows = [
        {"subject": f"{in_words(a)} and {in_words(b)}", "a": in_words(a), "b": in_words(b),
         "result": in_words(a + b), "digits": f"{a} + {b} = {a + b}"}
        for a in range(13) for b in range(13)
    ]
    return Kind(
        "addition_in_words",
        (
            "What is {a} plus {b}?",
            "How much is {a} plus {b}?",
            "What is {a} and {b}?",
            "{a} plus {b}?",
            "Add {a} and {b}.",
            "Tell me what {a} plus {b} is.",
        ),
        "In digits this is {digits}.",
        "{a} plus {b} is {result}.",
        rows,
    )


def product_kinds() -> list[Kind]:
    products = [(a, b) for a in range(13) for b in range(13)]
    quotients = [(a * b, b) for a in range(1, 13) for b in range(1, 13)]
    return [
        Kind(
            "multiplication",
            (
                "What is {a} x {b}?",
                "What is {a} times {b}?",
                "How much is {a} x {b}?",
                "How much is {a} times {b}?",
                "{a} * {b} = ?",
                "{a}*{b}",
                "{a} x {b} = ?",
                "Multiply {a} by {b}.",
                "Calculate {a} x {b}.",
                "What is the product of {a} and {b}?",
                "What's {a} times {b}, please?",
            ),
            "{steps}",
            "{a} x {b} = {result}.",
            [pair_row(a, b, a * b, multiplication_steps(a, b)) for a, b in products],
        ),
        Kind(
            "division",
            (
                "What is {a} / {b}?",
                "What is {a} divided by {b}?",
                "How much is {a} / {b}?",
                "How much is {a} divided by {b}?",
                "{a} / {b} = ?",
                "{a}/{b}",
                "Divide {a} by {b}.",
                "Calculate {a} / {b}.",
                "Please divide {a} by {b}.",
            ),
            "{b} x {result} = {a}, so {a} / {b} is {result}.",
            "{a} / {b} = {result}.",
            [pair_row(a, b, a // b, "") for a, b in quotients],
        ),
        Kind(
            "double",
            (
                "What is twice {subject}?",
                "Double {subject}.",
                "What is the double of {subject}?",
                "What do you get when you double {subject}?",
                "How much is two times {subject}?",
                "Please double the number {subject}.",
            ),
            "To double {subject} is to add {subject} and {subject}.",
            "Twice {subject} is {result}.",
            [{"subject": str(n), "result": str(2 * n)} for n in range(1, 101)],
        ),
        Kind(
            "half",
            (
                "What is half of {subject}?",
                "Halve {subject}.",
                "How much is half of {subject}?",
                "What do you get when you halve {subject}?",
                "What is {subject} divided in half?",
                "Please halve the number {subject}.",
            ),
            "{result} and {result} together are {subject}.",
            "Half of {subject} is {result}.",
            [{"subject": str(n), "result": str(n // 2)} for n in range(2, 201, 2)],
        ),
    ]


def comparison_rows(name: str) -> list[dict[str, str]]:
    unequal = [(a, b) for a in range(101) for b in range(101) if a != b]
    return [
        {
            "subject": f"{a} and {b}",
            "a": str(a),
            "b": str(b),
            "more": str(max(a, b)),
            "less": str(min(a, b)),
            "verdict": "Yes" if a > b else "No",
            "relation": "larger" if a > b else "smaller",
        }
        for a, b in sample(unequal, COMPARISONS, name)
    ]


def comparison_kinds() -> list[Kind]:
    return [
        Kind(
            "larger",
            (
                "Which is larger, {a} or {b}?",
                "Which number is larger, {a} or {b}?",
                "Which is bigger: {a} or {b}?",
                "Which number is greater, {a} or {b}?",
                "What is more, {a} or {b}?",
                "Tell me the larger of {a} and {b}.",
            ),
            "Compare {a} and {b}: {more} is the larger number.",
            "{more} is larger than {less}.",
            comparison_rows("larger"),
            limit=2,
        ),
        Kind(
            "smaller",
            (
                "Which is smaller, {a} or {b}?",
                "Which number is smaller, {a} or {b}?",
                "What is less, {a} or {b}?",
                "Which number is the lower one, {a} or {b}?",
                "Tell me the smaller of {a} and {b}.",
                "Please tell me which is less: {a} or {b}?",
            ),
            "Compare {a} and {b}: {less} is the smaller number.",
            "{less} is smaller than {more}.",
            comparison_rows("smaller"),
            limit=2,
        ),
        Kind(
            "is_larger",
            (
                "Is {a} larger than {b}?",
                "Is {a} bigger than {b}?",
                "Is {a} more than {b}?",
                "Is {a} greater than {b}?",
                "Tell me whether {a} is larger than {b}.",
            ),
            "Compare the two: {a} is {relation} than {b}.",
            "{verdict}, {a} is {relation} than {b}.",
            comparison_rows("is larger"),
            limit=2,
        ),
    ]


def kinds() -> list[Kind]:
    return [*sum_kinds(), word_sum_kind(), *product_kinds(), *comparison_kinds()]
