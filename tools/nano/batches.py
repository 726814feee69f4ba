"""Training rows: windows of prose, and conversations of several questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tokenizer import PAD, Tokenizer

EFFORTS = {"max": 0.7, "low": 0.15, "high": 0.15}
SYSTEM_TEXTS = ["You are a helpful assistant.", "Answer briefly.", "You are Kimi, a small model."]
SYSTEM_SHARE = 0.1
THINKING_SHARE = 0.8
KIND_POWER = 0.65  # A kind of n questions is drawn as often as n to this power says.
KIND_BOOSTS = {"meaning": 2.0, "talk": 4.0, "name": 2.0, "sluice": 2.0, "spelling": 1.5}
DRAWN_AT_ONCE = 65536

Row = tuple[np.ndarray, np.ndarray]  # ids and loss weights, both [tokens + 1]


def prose_rows(prose: np.ndarray, tokens: int, rng: np.random.Generator) -> Iterator[Row]:
    """Windows over all of the text, epoch after epoch, each epoch cut at other places."""
    weights = np.ones(tokens + 1, np.float32)
    while True:
        starts = np.arange(rng.integers(tokens), len(prose) - tokens - 1, tokens)
        for start in rng.permutation(starts):
            yield prose[start : start + tokens + 1], weights


class Chat:
    """Conversations drawn from the prepared turns."""

    def __init__(self, data: Path, tokenizer: Tokenizer, tokens: int, rng: np.random.Generator):
        self.file = dict(np.load(data / "chat.npz"))
        self.starts = np.concatenate([[0], self.file["ends"][:-1]])
        self.tokens, self.rng = tokens, rng
        self.pad = tokenizer.special(PAD)
        self.efforts = {e: tokenizer.effort_message(e) for e in EFFORTS}
        self.systems = [tokenizer.message(text, role="system") for text in SYSTEM_TEXTS]

    def _turns(self, thinking: bool) -> Iterator[int]:
        """Kinds with many questions come less often than their number, but still oftener."""
        turns = np.flatnonzero(self.file["thinking"] == thinking)
        kinds = self.file["kinds"][turns]
        counts = np.bincount(kinds, minlength=len(self.file["kind_names"])).astype(float)
        boosts = np.array([KIND_BOOSTS.get(name, 1.0) for name in self.file["kind_names"]])
        odds = (boosts * np.maximum(counts, 1.0) ** (KIND_POWER - 1.0))[kinds]
        while True:
            yield from self.rng.choice(turns, DRAWN_AT_ONCE, p=odds / odds.sum())

    def _opening(self, thinking: bool) -> list[int]:
        ids: list[int] = []
        if thinking:
            ids += self.efforts[self.rng.choice(list(EFFORTS), p=list(EFFORTS.values()))]
        if self.rng.random() < SYSTEM_SHARE:
            ids += self.systems[self.rng.integers(len(self.systems))]
        return ids

    def _row(self, turns: Iterator[int], thinking: bool) -> Row:
        """Only what the model itself writes counts."""
        ids = np.full(self.tokens + 1, self.pad, np.uint16)
        weights = np.zeros(self.tokens + 1, np.float32)
        opening = self._opening(thinking)
        used = len(opening)
        ids[:used] = opening
        while True:
            turn = next(turns)
            start, end = self.starts[turn], self.file["ends"][turn]
            if used + end - start > self.tokens + 1:
                return ids, weights
            ids[used : used + end - start] = self.file["tokens"][start:end]
            weights[used + self.file["answers"][turn] : used + end - start] = 1.0
            used += end - start

    def rows(self) -> Iterator[Row]:
        kinds = {thinking: self._turns(thinking) for thinking in (True, False)}
        while True:
            thinking = bool(self.rng.random() < THINKING_SHARE)
            yield self._row(kinds[thinking], thinking)


def batch(sources: list[Iterator[Row]], counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """ids [rows, tokens + 1] int64 and weights [rows, tokens], of the tokens to predict."""
    rows = [next(source) for source, n in zip(sources, counts) for _ in range(n)]
    ids = np.stack([ids for ids, _ in rows]).astype(np.int64)
    return ids, np.stack([weights[1:] for _, weights in rows])
