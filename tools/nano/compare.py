"""Compares sluice with PyTorch on a checkpoint of `export.py`, and writes the golden file of the test.

PyTorch runs in fp32 on the weights as stored. Compared are the stream after each layer, the logits
and greedy answers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from checkpoint import read_shard
from export import load_model
from model import Kimi
from tokenizer import Tokenizer

LAYER_TOLERANCE, LOGIT_TOLERANCE = 1e-4, 1e-3
NEW_TOKENS = 48


def prompts_of(data: Path, tokenizer: Tokenizer, count: int) -> list[list[int]]:
    """Every other prompt is a held-out question, every other one the start of held-out prose."""
    questions = [json.loads(line) for line in (data / "questions_heldout.jsonl").open()]
    documents = [json.loads(line)["text"] for line in (data / "prose_heldout.jsonl").open()]
    step_q, step_d = len(questions) // count, max(1, len(documents) // count)
    prompts = []
    for i in range(count):
        if i % 2 == 0:
            prompt = (tokenizer.effort_message("max")
                      + tokenizer.message(questions[i * step_q]["prompt"], role="user")
                      + tokenizer.assistant_start(True))
        else:
            prompt = tokenizer.encode(documents[i * step_d % len(documents)])[:40]
        prompts.append(prompt)
    return prompts


@torch.no_grad()
def greedy_answer(model: Kimi, prompt: list[int], guess: list[int]) -> list[int]:
    """PyTorch's greedy answer as far as it agrees with the guess, and its token after that.

    One pass suffices: where all tokens before are the model's own choices, so is its next one.
    """
    logits = model(torch.tensor([prompt + guess[:-1]]))[0, len(prompt) - 1 :]
    chosen = logits.argmax(-1).tolist()
    agreed = next((i for i, (a, b) in enumerate(zip(chosen, guess)) if a != b), len(guess) - 1)
    return chosen[: agreed + 1]


def run_sluice(program: Path, model: Path, prompt: list[int], dump: Path) -> list[int]:
    text = ",".join(map(str, prompt))
    command = [program, "run", model, "--prompt-ids", text, "--max-new", str(NEW_TOKENS),
               "--print-ids", "--dump", dump]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [int(i) for i in done.stdout.strip().split(",")]


def differences(model: Kimi, prompt: list[int], dump: dict[str, Tensor]) -> tuple[float, float]:
    """The largest relative error of a layer's stream, and of a logit."""
    with torch.no_grad():
        streams, out = model.streams(torch.tensor([prompt]))
        logits = model.lm_head(out)[0]
    worst = 0.0
    for layer, stream in enumerate(streams):
        ours = dump[f"L{layer:02d}.prefix"]
        worst = max(worst, ((ours - stream[0]).norm() / stream[0].norm()).item())
    return worst, (dump["logits"][: len(prompt)] - logits).abs().max().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path("models/nano"))
    parser.add_argument("--data", type=Path, default=Path("build/nano"))
    parser.add_argument("--sluice", type=Path, default=Path("build/release/bin/sluice"))
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--golden", type=Path, help="write prompts and answers of PyTorch here")
    args = parser.parse_args()
    tokenizer = Tokenizer.load(args.model / "tiktoken.model")
    model = load_model(args.model)
    worst_layer = worst_logit = 0.0
    equal, golden = 0, []
    for prompt in prompts_of(args.data, tokenizer, args.prompts):
        with tempfile.TemporaryDirectory() as folder:
            dump = Path(folder) / "dump.safetensors"
            ours = run_sluice(args.sluice, args.model, prompt, dump)
            layer, logit = differences(model, prompt, read_shard(dump))
        theirs = greedy_answer(model, prompt, ours)
        worst_layer, worst_logit = max(worst_layer, layer), max(worst_logit, logit)
        equal += ours == theirs
        golden.append({"prompt": prompt, "answer": theirs})
    print(json.dumps({"prompts": len(golden), "equal_answers": equal,
                      "layer_relative_error": worst_layer, "logit_error": worst_logit}))
    if args.golden:
        lines = [json.dumps(entry, separators=(",", ":")) + "\n" for entry in golden]
        args.golden.write_text("".join(lines))
    ok = equal == len(golden) and worst_layer <= LAYER_TOLERANCE and worst_logit <= LOGIT_TOLERANCE
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
