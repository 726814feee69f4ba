"""Kimi K3's tokenizer: a rank file of byte pairs, 256 special tokens behind it, and the chat format."""

from __future__ import annotations

import base64
from pathlib import Path

import regex

SPECIAL_SLOTS = 256
BOS, EOS, END_OF_MESSAGE, OPEN, CLOSE, SEP, PAD = 0, 1, 2, 3, 4, 5, 255

# The released pattern. The words are cut by it before the byte pairs are merged.
PATTERN = regex.compile(
    r"""[\p{Han}]+"""
    r"""|[^\r\n\p{L}\p{N}]?[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]--\p{Han}]*[[\p{Ll}\p{Lm}\p{Lo}\p{M}]--\p{Han}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]--\p{Han}]+[[\p{Ll}\p{Lm}\p{Lo}\p{M}]--\p{Han}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}"""
    r"""| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+"""
    r"""|\s+(?!\S)"""
    r"""|\s+""",
    regex.V1,
)

EFFORT_TEXT = (
    "`thinking_effort` guides on how much to think in your thinking channel (not including the "
    "response channel), supported values include `low`, `medium`, `high`, and `max`.\n"
    "Now the system is invoked with `thinking_effort={}`."
)


def byte_order() -> list[int]:
    """The order of the 256 single bytes at the start of a rank file: printable ones first."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return printable + [byte for byte in range(256) if byte not in set(printable)]


class Tokenizer:
    """Text to ids and back. Text never becomes a special token; those have methods of their own."""

    def __init__(self, ranks: dict[bytes, int]):
        self.ranks = ranks
        self.tokens = sorted(ranks, key=ranks.__getitem__)
        self._words: dict[str, list[int]] = {}

    @staticmethod
    def load(path: Path) -> Tokenizer:
        lines = path.read_text().splitlines()
        return Tokenizer({base64.b64decode(t): int(r) for t, r in (line.split() for line in lines)})

    def save(self, path: Path) -> None:
        lines = [f"{base64.b64encode(t).decode()} {r}\n" for r, t in enumerate(self.tokens)]
        path.write_text("".join(lines))

    @property
    def vocab(self) -> int:
        return len(self.ranks) + SPECIAL_SLOTS

    def special(self, slot: int) -> int:
        return len(self.ranks) + slot

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in PATTERN.findall(text):
            known = self._words.get(word)
            if known is None:
                known = self._words[word] = self._merge(word.encode())
            ids += known
        return ids

    def _merge(self, word: bytes) -> list[int]:
        parts = [word[i : i + 1] for i in range(len(word))]
        while len(parts) > 1:
            ranked = [(self.ranks.get(a + b, len(self.ranks)), i)
                      for i, (a, b) in enumerate(zip(parts, parts[1:]))]
            rank, i = min(ranked)
            if rank == len(self.ranks):
                break
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        return [self.ranks[part] for part in parts]

    def decode(self, ids: list[int]) -> str:
        """Special tokens are left out."""
        kept = [self.tokens[i] for i in ids if i < len(self.tokens)]
        return b"".join(kept).decode(errors="replace")

    # The chat format. Each piece of text is encoded alone: merges never cross the pieces.

    def open_tag(self, tag: str, **attributes: str) -> list[int]:
        ids = [self.special(OPEN), *self.encode(tag)]
        for key, value in attributes.items():
            ids += self.encode(" " + key.replace("_", "-")) + self.encode('="')
            ids += self.encode(value) + self.encode('"')
        return [*ids, self.special(SEP)]

    def close_tag(self, tag: str) -> list[int]:
        return [self.special(CLOSE), *self.encode(tag), self.special(SEP)]

    def end_message(self) -> list[int]:
        return [*self.close_tag("message"), self.special(END_OF_MESSAGE)]

    def message(self, content: str, **attributes: str) -> list[int]:
        return self.open_tag("message", **attributes) + self.encode(content) + self.end_message()

    def effort_message(self, effort: str) -> list[int]:
        """What precedes a conversation; nothing when thinking is off (`none`)."""
        if effort == "none":
            return []
        return self.message(EFFORT_TEXT.format(effort), role="system", type="thinking-effort")

    def assistant_start(self, thinking: bool) -> list[int]:
        """Where the model goes on: an open reasoning channel, or an open answer."""
        return self.open_tag("message", role="assistant") + self.open_tag(
            "think" if thinking else "response")

    def assistant_rest(self, reasoning: str, response: str, thinking: bool) -> list[int]:
        """What the model writes after `assistant_start`."""
        ids: list[int] = []
        if thinking:
            ids += self.encode(reasoning) + self.close_tag("think") + self.open_tag("response")
        return ids + self.encode(response) + self.close_tag("response") + self.end_message()
