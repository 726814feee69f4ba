"""Trains the byte-pair vocabulary on the training text and writes it as a rank file."""

from __future__ import annotations

import argparse
import heapq
import json
from collections import Counter, defaultdict
from pathlib import Path

from corpus import prose_documents, questions
from tokenizer import EFFORT_TEXT, PATTERN, SPECIAL_SLOTS, Tokenizer, byte_order

# The system message stands before every conversation, so its words are worth tokens of their own.
EFFORT_WEIGHT = 3000
TAG_WORDS = ["message", " role", '="', '"', "user", "system", "assistant", "think", "response",
             " type", "thinking", "-effort"]


def count_words(folder: Path) -> Counter[bytes]:
    counts: Counter[str] = Counter()
    for text in prose_documents(folder, "train"):
        counts.update(PATTERN.findall(text))
    for question in questions(folder, "train"):
        for field in ("prompt", "reasoning", "response"):
            counts.update(PATTERN.findall(question[field]))
    for effort in ("low", "high", "max"):
        for word in PATTERN.findall(EFFORT_TEXT.format(effort)):
            counts[word] += EFFORT_WEIGHT
    for word in TAG_WORDS:
        counts[word] += EFFORT_WEIGHT
    return Counter({word.encode(): n for word, n in counts.items()})


class PairCounts:
    """How often each pair of neighbouring tokens occurs, kept up to date while pairs are merged."""

    def __init__(self, words: Counter[bytes]):
        self.words = [([word[i : i + 1] for i in range(len(word))], n) for word, n in words.items()]
        self.counts: Counter[tuple[bytes, bytes]] = Counter()
        self.places: defaultdict[tuple[bytes, bytes], set[int]] = defaultdict(set)
        for index in range(len(self.words)):
            self._add(index, 1)
        self.heap = [(-n, pair) for pair, n in self.counts.items()]
        heapq.heapify(self.heap)

    def _add(self, index: int, sign: int) -> None:
        parts, n = self.words[index]
        for pair in zip(parts, parts[1:]):
            self.counts[pair] += sign * n
            if sign > 0:
                self.places[pair].add(index)

    def best(self) -> tuple[bytes, bytes]:
        """The most frequent pair; of several the first in byte order."""
        while True:
            n, pair = self.heap[0]
            if self.counts[pair] == -n:
                return pair
            heapq.heapreplace(self.heap, (-self.counts[pair], pair))

    def merge(self, pair: tuple[bytes, bytes]) -> None:
        changed: set[tuple[bytes, bytes]] = set()
        for index in self.places.pop(pair):
            self._add(index, -1)
            parts, _ = self.words[index]
            i = 0
            while i < len(parts) - 1:
                if (parts[i], parts[i + 1]) == pair:
                    parts[i : i + 2] = [parts[i] + parts[i + 1]]
                i += 1
            self._add(index, 1)
            changed.update(p for p in zip(parts, parts[1:]) if pair[0] + pair[1] in p)
        for new in changed:
            heapq.heappush(self.heap, (-self.counts[new], new))


def train(words: Counter[bytes], size: int) -> Tokenizer:
    ranks = {bytes([byte]): rank for rank, byte in enumerate(byte_order())}
    pairs = PairCounts(words)
    while len(ranks) < size:
        pair = pairs.best()
        pairs.merge(pair)
        ranks.setdefault(pair[0] + pair[1], len(ranks))
        if len(ranks) % 500 == 0:
            print(f"{len(ranks)} of {size} tokens, last {pair[0] + pair[1]!r}", flush=True)
    return Tokenizer(ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("build/nano"))
    parser.add_argument("--size", type=int, default=6144, help="with the 256 special slots")
    parser.add_argument("--least", type=int, default=3, help="ignore words that are rarer")
    args = parser.parse_args()
    words = Counter({w: n for w, n in count_words(args.data).items() if n >= args.least})
    print(f"{len(words)} different words", flush=True)
    tokenizer = train(words, args.size - SPECIAL_SLOTS)
    tokenizer.save(args.data / "tiktoken.model")
    sample = next(prose_documents(args.data, "heldout"))
    print(json.dumps({"vocab": tokenizer.vocab,
                      "bytes_per_token": round(len(sample) / len(tokenizer.encode(sample)), 3)}))


if __name__ == "__main__":
    main()
