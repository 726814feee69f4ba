"""Trains the small model on the prepared text and saves its parameters.

The routers are balanced without a loss of their own: after each step the bias of an expert that got
more than its share of rows falls by a fixed amount, and rises otherwise. From QUANTIZE_FROM on the
experts are seen through the MXFP4 quantiser, so that the shipped bytes are the trained model.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from batches import Chat, batch, prose_rows
from model import Kimi
from shape import SMOKE, Shape
from tokenizer import Tokenizer

DECAY_FROM, QUANTIZE_FROM, CHAT_MORE_FROM = 0.4, 0.45, 0.5
CHAT_SHARE, CHAT_SHARE_LATE = 0.45, 0.65
BALANCE_STEP = 1e-3


def learning_rate(progress: float, peak: float) -> float:
    """Warm-up, a level part, and a straight line to zero."""
    return peak * min(1.0, progress / 0.02, (1.0 - progress) / (1.0 - DECAY_FROM))


def make_optimizer(model: Kimi, peak: float) -> torch.optim.Optimizer:
    """AdamW; only matrices decay, and not the embedding table."""
    decayed, kept = [], []
    for name, value in model.named_parameters():
        is_matrix = value.ndim >= 2 and min(value.shape[-2:]) > 1
        (decayed if is_matrix and "embed_tokens" not in name else kept).append(value)
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": kept, "weight_decay": 0.0}]
    on_gpu = next(model.parameters()).is_cuda
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.95), eps=1e-10,
                             **({"fused": True} if on_gpu else {}))


def balance(model: Kimi, step: float) -> None:
    for moe in model.moe_layers():
        counts = moe.counts.float()
        moe.gate.e_score_correction_bias += step * torch.sign(counts.mean() - counts)


def losses(model: Kimi, ids: Tensor, weights: Tensor) -> Tensor:
    """The loss of each token to predict, [rows, tokens], zero where the weight is zero."""
    with torch.autocast(ids.device.type, torch.bfloat16, enabled=ids.is_cuda):
        logits = model(ids[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(),
                           reduction="none").view_as(weights) * weights


@torch.no_grad()
def bits_per_byte(model: Kimi, heldout: np.ndarray, byte_count: int, tokens: int,
                  rows: int, batches: int) -> float:
    """On windows of the held-out prose without context before them; an upper bound."""
    model.eval()
    count = min(len(heldout) // (tokens + 1), rows * batches)
    windows = heldout[: count * (tokens + 1)].reshape(count, tokens + 1).astype(np.int64)
    device = next(model.parameters()).device
    total = 0.0
    for start in range(0, count, rows):
        ids = torch.from_numpy(windows[start : start + rows]).to(device)
        total += losses(model, ids, torch.ones_like(ids[:, 1:], dtype=torch.float32)).sum().item()
    model.train()
    bytes_seen = byte_count * count * tokens / len(heldout)
    return total / math.log(2) / bytes_seen


class Trainer:
    def __init__(self, model: Kimi, tokenizer: Tokenizer, args: argparse.Namespace):
        self.model, self.args = model, args
        self.device = torch.device(args.device)
        rng = np.random.default_rng(args.seed)
        self.sources = [prose_rows(np.load(args.data / "prose.npy"), args.tokens, rng),
                        Chat(args.data, tokenizer, args.tokens, rng).rows()]
        self.heldout = np.load(args.data / "heldout.npy")
        self.heldout_bytes = (args.data / "prose_heldout.txt").stat().st_size
        self.optimizer = make_optimizer(model, args.rate)

    def step(self, progress: float) -> tuple[Tensor, Tensor]:
        """One update. Returns the losses on prose and chat, in nats a token."""
        args = self.args
        self.model.quantize_experts(progress >= QUANTIZE_FROM)
        share = CHAT_SHARE_LATE if progress >= CHAT_MORE_FROM else CHAT_SHARE
        chat = round(args.rows * share)
        counts = [args.rows - chat, chat]
        ids, weights = (torch.from_numpy(x).to(self.device) for x in batch(self.sources, counts))
        loss = losses(self.model, ids, weights)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(progress, args.rate)
        self.optimizer.zero_grad(set_to_none=True)
        (loss.sum() / weights.sum()).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        balance(self.model, BALANCE_STEP * min(1.0, (1.0 - progress) / 0.2))
        prose, chat = (part.sum() / count.sum() for part, count in zip(
            loss.detach().split(counts), weights.split(counts)))
        return prose, chat

    def run(self) -> None:
        args = self.args
        begin, shown = time.time(), 0
        for step in range(args.steps):
            prose, chat = self.step(step / args.steps)
            done = step + 1
            if step % args.report != 0 and done != args.steps:
                continue
            nats = f"prose {prose:.3f}, chat {chat:.4f} nats a token"
            speed = (done - shown) * args.rows * args.tokens / (time.time() - begin)
            bits = bits_per_byte(self.model, self.heldout, self.heldout_bytes, args.tokens,
                                 args.rows, args.held)
            print(f"step {done}/{args.steps}: {nats}; held out {bits:.3f} bits a byte; "
                  f"{speed:.0f} tokens/s", flush=True)
            begin, shown = time.time(), done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("build/nano"))
    parser.add_argument("--to", type=Path, default=Path("build/nano/trained.pt"))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=128, help="of each step")
    parser.add_argument("--tokens", type=int, default=512, help="of a row")
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=int, default=100, help="steps between reports")
    parser.add_argument("--held", type=int, default=2, help="held-out batches of a report")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--smoke", action="store_true", help="a much smaller model, for a test")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    if torch.cuda.is_available():
        torch._dynamo.config.recompile_limit = 64  # The norms meet many shapes.
    tokenizer = Tokenizer.load(args.data / "tiktoken.model")
    shape = Shape(vocab=tokenizer.vocab, **(SMOKE if args.smoke else {}))
    model = Kimi(shape).to(args.device)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters", flush=True)
    Trainer(model, tokenizer, args).run()
    torch.save({"shape": asdict(shape), "parameters": model.state_dict()}, args.to)
    print(json.dumps({"saved": str(args.to)}))


if __name__ == "__main__":
    main()
