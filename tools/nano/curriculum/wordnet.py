"""WordNet 3.0 as the Debian package wordnet-base holds it: words, senses, glosses, relations."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
PART_OF_NUMBER = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}

HYPERNYM = "@"
INSTANCE = "@i"
ANTONYM = "!"


@dataclass(frozen=True)
class Pointer:
    symbol: str
    target: tuple[str, int]  # part of speech and offset of a synset
    source_word: int  # from 1; 0: the whole synset
    target_word: int


@dataclass(frozen=True)
class Synset:
    part: str
    words: tuple[str, ...]
    pointers: tuple[Pointer, ...]
    gloss: str

    @property
    def definition(self) -> str:
        return self.gloss.split('; "')[0].split(' "')[0].strip(" ;")

    @property
    def examples(self) -> list[str]:
        return re.findall(r'"([^"]+)"', self.gloss)


INSTALLED = Path("/usr/share/wordnet")


def fetch(folder: Path) -> Path:
    """The folder with the data files: of the installed package, or of one downloaded to `folder`."""
    data = folder / "usr/share/wordnet"
    for place in (INSTALLED, data):
        if place.exists():
            return place
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["apt-get", "download", "wordnet-base"], cwd=folder, check=True)
        (package,) = folder.glob("wordnet-base_*.deb")
        subprocess.run(["dpkg", "-x", package.name, "."], cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        raise SystemExit(
            f"{data} is missing and could not be fetched ({failure}): "
            f"unpack Debian's package wordnet-base into {folder}"
        ) from failure
    return data


def read_synset(line: str) -> tuple[int, Synset]:
    fields, gloss = line.split(" | ", 1)
    parts = fields.split()
    count = int(parts[3], 16)
    words = tuple(re.sub(r"\(\w+\)$", "", word) for word in parts[4 : 4 + 2 * count : 2])
    rest = parts[4 + 2 * count :]
    pointers = []
    for i in range(int(rest[0])):
        symbol, offset, part, numbers = rest[1 + 4 * i : 5 + 4 * i]
        target = (part.replace("s", "a"), int(offset))
        pointers.append(Pointer(symbol, target, int(numbers[:2], 16), int(numbers[2:], 16)))
    part = parts[2].replace("s", "a")
    return int(parts[0]), Synset(part, words, tuple(pointers), gloss.strip())


class WordNet:
    """All synsets; for each word and part of speech its synsets, most frequent first."""

    def __init__(self, folder: Path) -> None:
        self.synsets: dict[tuple[str, int], Synset] = {}
        self.senses: dict[tuple[str, str], list[Synset]] = {}
        self.counts: dict[tuple[str, str], int] = defaultdict(int)  # uses in tagged text
        self.first_counts: dict[tuple[str, str], int] = {}  # of them in the first sense
        for part, name in PARTS.items():
            for line in (folder / f"data.{name}").read_text().splitlines():
                if not line.startswith("  "):
                    offset, synset = read_synset(line)
                    self.synsets[part, offset] = synset
        for part, name in PARTS.items():
            for line in (folder / f"index.{name}").read_text().splitlines():
                if not line.startswith("  "):
                    fields = line.split()
                    offsets = fields[-int(fields[2]) :]
                    self.senses[fields[0], part] = [self.synsets[part, int(o)] for o in offsets]
        for line in (folder / "cntlist.rev").read_text().splitlines():
            key, number, count = line.split()
            word, rest = key.split("%")
            part = PART_OF_NUMBER[rest[0]]
            self.counts[word, part] += int(count)
            if number == "1":
                self.first_counts[word, part] = int(count)

    def dominance(self, word: str, part: str) -> float:
        """The share of the word's uses that have this part of speech and its first sense."""
        total = sum(self.counts[word, other] for other in PARTS)
        return self.first_counts.get((word, part), 0) / max(total, 1)

    def usual_part(self, word: str) -> str:
        """The part of speech that the word mostly has."""
        return max((part for part in PARTS if (word, part) in self.senses),
                   key=lambda part: self.counts[word, part])

    def common(self, parts: str) -> Iterator[tuple[str, str]]:
        """Single words and their usual part of speech, if it is among parts; frequent first."""
        words = sorted({word for word, _ in self.senses if re.fullmatch("[a-z]{3,12}", word)})
        ranked = [(-self.counts[word, part], word, part)
                  for word in words for part in (self.usual_part(word),) if part in parts]
        for _, word, part in sorted(ranked):
            yield word, part

    def ancestors(self, synset: Synset) -> Iterator[Synset]:
        """The synset and its hypernyms, nearest first."""
        level = [synset]
        while level:
            yield from level
            level = [self.synsets[pointer.target] for node in level for pointer in node.pointers
                     if pointer.symbol in (HYPERNYM, INSTANCE)]

    def antonyms(self, synset: Synset, word: str) -> Iterator[str]:
        number = [w.lower() for w in synset.words].index(word) + 1
        for pointer in synset.pointers:
            if pointer.symbol == ANTONYM and pointer.source_word == number:
                yield self.synsets[pointer.target].words[pointer.target_word - 1].lower()
