"""Turns the gathered text into token files for training: prose.npy, heldout.npy and chat.npz."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from corpus import prose_documents, questions
from tokenizer import EOS, Tokenizer

TOKENS_MAX = 200  # Of one turn; longer ones are left out.


def encode_prose(folder: Path, part: str, tokenizer: Tokenizer) -> np.ndarray:
    """All documents in one row, each ended by [EOS]."""
    end = tokenizer.special(EOS)
    documents = [np.array([*tokenizer.encode(text), end], np.uint16)
                 for text in prose_documents(folder, part)]
    return np.concatenate(documents)


def encode_turns(folder: Path, tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """Every question twice, with and without a reasoning channel.

    tokens: all turns in one row; ends [turns]: where each ends; answers [turns]: where in it the
    model begins to write; thinking [turns]; kinds [turns]: index into kind_names.
    """
    tokens: list[int] = []
    ends, answers, thinks, kinds = [], [], [], []
    names: dict[str, int] = {}
    for question in questions(folder, "train"):
        for thinking in (True, False):
            prompt = (tokenizer.message(question["prompt"], role="user")
                      + tokenizer.assistant_start(thinking))
            rest = tokenizer.assistant_rest(question["reasoning"], question["response"], thinking)
            if len(prompt) + len(rest) > TOKENS_MAX:
                continue
            tokens += prompt + rest
            ends.append(len(tokens))
            answers.append(len(prompt))
            thinks.append(thinking)
            kinds.append(names.setdefault(question["kind"], len(names)))
    return {"tokens": np.array(tokens, np.uint16), "ends": np.array(ends, np.int32),
            "answers": np.array(answers, np.uint8), "thinking": np.array(thinks),
            "kinds": np.array(kinds, np.uint8), "kind_names": np.array(list(names))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("build/nano"))
    args = parser.parse_args()
    tokenizer = Tokenizer.load(args.data / "tiktoken.model")
    for part, name in (("train", "prose"), ("heldout", "heldout")):
        ids = encode_prose(args.data, part, tokenizer)
        np.save(args.data / f"{name}.npy", ids)
        print(f"{name}: {len(ids)} tokens", flush=True)
    turns = encode_turns(args.data, tokenizer)
    np.savez_compressed(args.data / "chat.npz", **turns)
    print(f"chat: {len(turns['ends'])} turns, {len(turns['tokens'])} tokens")


if __name__ == "__main__":
    main()
