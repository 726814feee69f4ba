"""Writes the questions and the definitions: python3 -m tools.nano.curriculum --to build/nano"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from . import (
    arithmetic,
    core,
    counting,
    geography,
    knowledge,
    language,
    meanings,
    problems,
    sluice_facts,
    smalltalk,
    stories,
)
from .wordnet import WordNet, fetch


def all_kinds(net: WordNet) -> list[core.Kind]:
    """Every kind; of equal prompts in two kinds the earlier kind keeps its own."""
    return [
        *smalltalk.kinds(),
        *sluice_facts.kinds(),
        *geography.kinds(),
        *knowledge.kinds(),
        *language.kinds(),
        *stories.kinds(),
        *arithmetic.kinds(),
        *counting.kinds(),
        *problems.kinds(),
        *meanings.kinds(net),
    ]


def report(kinds: Sequence[core.Kind], parts: core.Split) -> None:
    train = Counter(question.kind for question in parts.train)
    held_out = Counter(question.kind for question in parts.held_out)
    print(f"{'kind':20} {'subjects':>9} {'templates':>9} {'train':>8} {'held out':>8}")
    for kind in kinds:
        subjects = len({row["subject"] for row in kind.rows})
        counts = f"{train[kind.name]:8} {held_out[kind.name]:8}"
        print(f"{kind.name:20} {subjects:9} {len(kind.templates):9} {counts}")
    print(f"{'total':20} {'':19} {train.total():8} {held_out.total():8}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="folder to write")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    net = WordNet(fetch(options.to / "wordnet"))
    kinds = all_kinds(net)
    parts = core.split(kinds)
    core.write(options.to / "questions_train.jsonl", parts.train)
    core.write(options.to / "questions_heldout.jsonl", parts.held_out)
    lines = sorted(meanings.definitions(net), key=str.lower)
    (options.to / "definitions.txt").write_text("".join(line + "\n" for line in lines))
    report(kinds, parts)
    print(f"definitions.txt: {len(lines)} lines")


if __name__ == "__main__":
    main()
