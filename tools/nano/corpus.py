"""The gathered text as the later steps read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path


def _lines(path: Path) -> Iterator[dict]:
    with path.open() as file:
        for line in file:
            yield json.loads(line)


def prose_documents(folder: Path, part: str) -> Iterator[str]:
    """The texts of `prose_PART.jsonl`, and for training the definitions too, some at a time."""
    for document in _lines(folder / f"prose_{part}.jsonl"):
        yield document["text"]
    if part == "train" and (folder / "definitions.txt").exists():
        entries = (folder / "definitions.txt").read_text().splitlines()
        for start in range(0, len(entries), 40):
            yield "\n".join(entries[start : start + 40])


def questions(folder: Path, part: str) -> Iterator[dict]:
    yield from _lines(folder / f"questions_{part}.jsonl")
