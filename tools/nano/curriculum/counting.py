"""The order of numbers and letters, and the digits of numbers."""

from __future__ import annotations

import string

from .core import Kind
from .numbers import counted, in_words


def counting_kinds() -> list[Kind]:
    numbers = [
        {
            "subject": str(n),
            "next": str(n + 1),
            "previous": str(n - 1),
            "parity": "odd" if n % 2 else "even",
            "last": str(n % 10),
        }
        for n in range(1, 151)
    ]
    return [
        Kind(
            "next_number",
            (
                "What number comes after {subject}?",
                "Which number comes after {subject}?",
                "What comes next after {subject}?",
                "What is the next number after {subject}?",
                "Which number follows {subject}?",
                "What is one more than {subject}?",
                "Please tell me the number after {subject}.",
            ),
            "Count one on from {subject}: {next}.",
            "{next} comes after {subject}.",
            numbers,
        ),
        Kind(
            "previous_number",
            (
                "What number comes before {subject}?",
                "Which number comes before {subject}?",
                "What is the number before {subject}?",
                "What comes just before {subject}?",
                "What is one less than {subject}?",
                "Please tell me the number before {subject}.",
            ),
            "Count one back from {subject}: {previous}.",
            "{previous} comes before {subject}.",
            numbers,
        ),
        Kind(
            "even_or_odd",
            (
                "Is {subject} even or odd?",
                "Is {subject} an even or an odd number?",
                "Is the number {subject} odd or even?",
                "Tell me whether {subject} is even or odd.",
                "Even or odd: {subject}?",
                "What is {subject}, even or odd?",
            ),
            "The last digit of {subject} is {last}, which is {parity}.",
            "{subject} is {parity}.",
            numbers,
        ),
    ]


def range_kinds() -> list[Kind]:
    return [
        Kind(
            "count",
            (
                "Count from {first} to {last}.",
                "Please count from {first} to {last}.",
                "Can you count from {first} to {last}?",
                "Write the numbers from {first} to {last}.",
                "List all numbers from {first} to {last}.",
            ),
            "The user wants all the numbers from {first} to {last}.",
            "{listed}.",
            [
                {
                    "subject": f"{first} to {last}",
                    "first": str(first),
                    "last": str(last),
                    "listed": ", ".join(map(str, range(first, last + 1))),
                }
                for first in range(1, 31)
                for last in range(first + 3, first + 10, 2)
            ],
        ),
    ]


def digit_kinds() -> list[Kind]:
    rows = [
        {
            "subject": str(n),
            "tens": counted(n // 10, "tens"),
            "ones": counted(n % 10, "ones"),
            "words": in_words(n),
            "rounded": str((n + 5) // 10 * 10),
            "last": str(n % 10),
        }
        for n in range(10, 100)
    ]
    words = [{"subject": str(n), "words": in_words(n)} for n in range(101)]
    return [
        Kind(
            "tens_and_ones",
            (
                "How many tens and ones has {subject}?",
                "How many tens and ones are in {subject}?",
                "Split {subject} into tens and ones.",
                "What are the tens and ones of {subject}?",
                "Tell me the tens and ones of {subject}.",
            ),
            "The digits of {subject} are its tens and its ones.",
            "{subject} has {tens} and {ones}.",
            rows,
        ),
        Kind(
            "rounding",
            (
                "Round {subject} to the nearest ten.",
                "What is {subject} rounded to the nearest ten?",
                "Please round {subject} to tens.",
                "Which ten is {subject} nearest to when you round it?",
                "How do you round {subject} to the nearest ten?",
            ),
            "The last digit of {subject} is {last}, which decides the rounding.",
            "{subject} rounded to the nearest ten is {rounded}.",
            rows,
        ),
        Kind(
            "number_in_words",
            (
                "How do you write {subject} in words?",
                "Write {subject} in words.",
                "What is {subject} in words?",
                "Please write the number {subject} in words.",
                "Spell out the number {subject}.",
                "Which word is the number {subject}?",
            ),
            "The user wants the number {subject} in words.",
            "{subject} in words is {words}.",
            words,
        ),
        Kind(
            "words_to_number",
            (
                "Which number is {words}?",
                "Write {words} in digits.",
                "What is {words} in digits?",
                "How do you write {words} in digits?",
                "Please write {words} as a number.",
            ),
            "The user wants the number {words} in digits.",
            "{words} in digits is {subject}.",
            words,
        ),
    ]


def letter_kinds() -> list[Kind]:
    letters = string.ascii_uppercase
    return [
        Kind(
            "next_letter",
            (
                "Which letter comes after {subject}?",
                "What letter comes after {subject}?",
                "What is the next letter after {subject}?",
                "Which letter follows {subject} in the alphabet?",
                "What comes after {subject} in the alphabet?",
                "Please tell me the letter after {subject}.",
            ),
            "The user asks for the letter that follows {subject} in the alphabet.",
            "{next} comes after {subject}.",
            [{"subject": a, "next": b} for a, b in zip(letters, letters[1:])],
        ),
        Kind(
            "previous_letter",
            (
                "Which letter comes before {subject}?",
                "What letter comes before {subject}?",
                "What is the letter before {subject}?",
                "Which letter is just before {subject} in the alphabet?",
                "What comes before {subject} in the alphabet?",
                "Please tell me the letter before {subject}.",
            ),
            "The user asks for the letter just before {subject} in the alphabet.",
            "{previous} comes before {subject}.",
            [{"subject": b, "previous": a} for a, b in zip(letters, letters[1:])],
        ),
    ]


def kinds() -> list[Kind]:
    return [*counting_kinds(), *range_kinds(), *digit_kinds(), *letter_kinds()]
