"""Kinds of questions, their expansion to prompts, and the split into training and held-out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SEED = 20
HELD_OUT_SHARE = 0.10
TOKEN = re.compile(r"c\+\+|[a-z]+|[0-9]+|(?<=[0-9 ])[-+*/](?=[0-9 ])")
CASUAL_SHARE = 0.30  # of the pairs, which also occur in lower case and without the last mark


@dataclass(frozen=True)
class Question:
    kind: str
    template: str
    subject: str
    prompt: str
    reasoning: str
    response: str
    answers: tuple[str, ...]

    @property
    def key(self) -> str:
        """What stays of a prompt without capitals and marks: variants share one fate."""
        return " ".join(TOKEN.findall(self.prompt.lower()))

    def line(self) -> str:
        return json.dumps(self.__dict__, ensure_ascii=True)


@dataclass(frozen=True)
class Kind:
    """One form of fact. All texts may contain {fields} of a row.

    A row has at least `subject`; `prompts`, divided by " / ", replace the templates.
    """

    name: str
    templates: Sequence[str]
    reasoning: str
    response: str
    rows: Sequence[dict[str, str]]
    limit: int = 99  # templates for each subject at most; which ones, a hash decides
    scored: bool = True  # whether some pairs are held out

    def chosen(self, count: int, subject: str) -> list[int]:
        """Which templates the subject has."""
        ranked = sorted(range(count), key=lambda i: share_of(self.name, str(i), subject))
        return sorted(ranked[: self.limit])

    def questions(self) -> Iterator[Question]:
        for row in self.rows:
            response = sentence(self.response, row)
            answers = (response, *(row["also"].split("|") if "also" in row else ()))
            templates = row["prompts"].split(" / ") if "prompts" in row else self.templates
            for number in self.chosen(len(templates), row["subject"]):
                name = f"{self.name}.{number}"
                prompt = sentence(templates[number], row)
                prompts = {name: prompt}
                if share_of("casual", name, row["subject"]) < CASUAL_SHARE:
                    prompts[name + ".casual"] = casual(prompt)
                for template, text in prompts.items():
                    yield Question(
                        kind=self.name,
                        template=template,
                        subject=row["subject"],
                        prompt=text,
                        reasoning=sentence(self.reasoning, row),
                        response=response,
                        answers=answers,
                    )


@dataclass
class Split:
    train: list[Question] = field(default_factory=list)
    held_out: list[Question] = field(default_factory=list)


def share_of(*parts: str) -> float:
    """A number in [0, 1) that depends on the seed and the parts alone."""
    digest = hashlib.sha256("\0".join([str(SEED), *parts]).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def sentence(text: str, row: dict[str, str]) -> str:
    text = text.format_map(row).replace("..", ".")  # as after "Washington, D.C."
    return text[:1].upper() + text[1:]


def casual(prompt: str) -> str:
    return prompt.lower().rstrip("?.! =")


def table(text: str, *names: str) -> list[dict[str, str]]:
    """The rows of a table with a line for each and | between the columns."""
    rows = []
    for line in text.strip().splitlines():
        values = [value.strip() for value in line.split("|")]
        if len(values) != len(names):
            raise ValueError(f"{line!r} has {len(values)} columns instead of {len(names)}")
        rows.append(dict(zip(names, values)))
    return rows


def blocks(text: str) -> list[tuple[str, str]]:
    """Headers, which begin with "= ", and what follows them, as one line each."""
    parts = (part.split("\n", 1) for part in ("\n" + text.strip()).split("\n= ")[1:])
    return [(header, " ".join(body.split())) for header, body in parts]


def article(noun: str) -> str:
    """The noun with "a" or "an" before it."""
    vowel = noun[0].lower() in "aeiou" and not re.match(r"(?i)(uni|use|usu|eu|one|ut)", noun)
    silent = re.match(r"(?i)(hour|honest|honou?r|heir)", noun)
    return ("an " if vowel or silent else "a ") + noun


def distinct(questions: Iterable[Question]) -> list[Question]:
    """Of equal prompts the first alone, so that a prompt has one answer; earlier kinds win."""
    owners: dict[str, tuple[str, str]] = {}
    prompts: set[str] = set()
    kept = []
    for question in questions:
        owner = owners.setdefault(question.key, (question.kind, question.response))
        if owner == (question.kind, question.response) and question.prompt not in prompts:
            prompts.add(question.prompt)
            kept.append(question)
    return kept


def held_out_keys(questions: Sequence[Question], always_trained: set[str]) -> set[str]:
    """About a tenth of the keys, and at most half of those of a subject."""
    keys: dict[tuple[str, str], list[str]] = {}
    for question in questions:
        of_subject = keys.setdefault((question.kind, question.subject), [])
        if question.key not in of_subject:
            of_subject.append(question.key)
    held_out = set()
    for (kind, _), of_subject in keys.items():
        chosen = [
            key
            for key in of_subject
            if key not in always_trained and share_of("split", kind, key) < HELD_OUT_SHARE
        ]
        held_out.update(chosen[: len(of_subject) // 2])
    return held_out


def split(kinds: Sequence[Kind]) -> Split:
    questions = distinct(question for kind in kinds for question in kind.questions())
    scored = {kind.name for kind in kinds if kind.scored}
    listed = {kind.name for kind in kinds if not kind.templates}
    # The first of the listed phrasings is the one that everybody tries.
    usual = {q.key for q in questions if q.kind in listed and q.template.endswith(".0")}
    held_out = held_out_keys([q for q in questions if q.kind in scored], usual)
    parts = Split()
    for question in questions:
        (parts.held_out if question.key in held_out else parts.train).append(question)
    return parts


def write(path: Path, questions: Iterable[Question]) -> None:
    path.write_text("".join(question.line() + "\n" for question in questions))
