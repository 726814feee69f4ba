"""Without these, a wrong sum, a leaked held-out question or two answers for one prompt would teach
the model nonsense and nobody would see it in the score.

Run in the project's root: python3 -m unittest tools.nano.curriculum.test_curriculum
"""

from __future__ import annotations

import os
import re
import unittest
from collections import defaultdict
from pathlib import Path

from . import core, meanings
from .__main__ import all_kinds
from .numbers import in_words
from .wordnet import WordNet, fetch

FOLDER = Path(os.environ.get("NANO_BUILD", "build/nano"))
SUM = re.compile(r"(\d+) ([-+x/]) (\d+) (?:=|is) (\d+)")
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "x": lambda a, b: a * b,
    "/": lambda a, b: a // b if a % b == 0 else None,
}


def wrong_sums(text: str) -> list[str]:
    return [
        match[0]
        for match in SUM.finditer(text)
        if OPERATIONS[match[2]](int(match[1]), int(match[3])) != int(match[4])
    ]


class Curriculum(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.net = WordNet(fetch(FOLDER / "wordnet"))
        cls.parts = core.split(all_kinds(cls.net))
        cls.everything = cls.parts.train + cls.parts.held_out

    def test_second_run_gives_the_same(self) -> None:
        again = core.split(all_kinds(self.net))
        self.assertEqual(self.parts.train, again.train)
        self.assertEqual(self.parts.held_out, again.held_out)

    def test_held_out_is_about_a_tenth(self) -> None:
        share = len(self.parts.held_out) / len(self.everything)
        self.assertTrue(0.08 < share < 0.12, share)

    def test_held_out_prompts_are_not_trained_in_other_capitals(self) -> None:
        trained = {question.key for question in self.parts.train}
        for question in self.parts.held_out:
            self.assertNotIn(question.key, trained)

    def test_held_out_subjects_are_trained(self) -> None:
        trained = {(question.kind, question.subject) for question in self.parts.train}
        for question in self.parts.held_out:
            self.assertIn((question.kind, question.subject), trained, question.prompt)

    def test_one_response_for_a_prompt_in_any_capitals(self) -> None:
        responses = defaultdict(set)
        prompts = [question.prompt for question in self.everything]
        for question in self.everything:
            responses[question.key].add(question.response)
        for key, found in responses.items():
            self.assertEqual(1, len(found), key)
        self.assertEqual(len(prompts), len(set(prompts)))

    def test_sums_are_right_in_every_step(self) -> None:
        seen = set()
        for question in self.everything:
            for text in (question.reasoning, question.response):
                self.assertEqual([], wrong_sums(text), question.prompt)
                seen.update(match[2] for match in SUM.finditer(text))
        self.assertEqual(set(OPERATIONS), seen)

    def test_a_wrong_sum_is_seen(self) -> None:
        self.assertEqual(["2 + 2 = 5"], wrong_sums("2 + 2 = 5."))

    def test_sums_in_words_end_with_the_result_of_their_digits(self) -> None:
        for question in self.everything:
            if question.kind == "addition_in_words":
                result = int(SUM.search(question.reasoning)[4])
                self.assertTrue(question.response.endswith(f" is {in_words(result)}."))

    def test_problems_end_with_the_result_of_their_sum(self) -> None:
        for question in self.everything:
            if question.kind.startswith("problem_"):
                result = SUM.search(question.reasoning)[4]
                self.assertIn(f" {result} ", question.response)

    def test_spelling_has_the_letters(self) -> None:
        for question in self.everything:
            if question.kind == "spelling":
                letters = question.response.removesuffix(".").split()[-1]
                self.assertEqual(question.subject, letters.replace("-", ""))
            if question.kind == "letter_count":
                self.assertIn(f" {len(question.subject)} letters", question.response)

    def test_lines_are_short_plain_text(self) -> None:
        for question in self.everything:
            self.assertTrue(question.line().isascii())
            for text in (question.prompt, question.reasoning, question.response):
                self.assertRegex(text, r"^\S(?:.*\S)?$")
                self.assertNotRegex(text, r"[{}|]|  ")
                self.assertLess(len(text), 400)
            self.assertIn(question.response, question.answers)
            self.assertLessEqual(len(question.reasoning.split()), 25, question.reasoning)

    def test_every_kind_has_training_lines(self) -> None:
        trained = {question.kind for question in self.parts.train}
        self.assertEqual({kind.name for kind in all_kinds(self.net)}, trained)

    def test_definitions_are_one_line_each(self) -> None:
        lines = list(meanings.definitions(self.net))
        self.assertGreater(len(lines), 100_000)
        for line in lines:
            self.assertRegex(line, r"^[^:\n]+: [^\n]+[.?!]$")


if __name__ == "__main__":
    unittest.main()
