"""Writes trained parameters as a checkpoint in the released layout, and reads one back."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

import mxfp4
from checkpoint import read_checkpoint, write_checkpoint
from model import Kimi
from shape import Shape

PREFIX = "language_model."
# The tensors that the release stores as F32; the others are BF16, and the experts MXFP4.
F32 = ("conv1d.weight", "dt_bias", "A_log", "o_norm.weight", "e_score_correction_bias")


def expert_tensors(prefix: str, parameters: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Each expert lies in one piece, so that one read fetches it."""
    stacks = {w: parameters[f"{prefix}.{w}"] for w in ("w1", "w2", "w3")}
    for expert in range(len(stacks["w1"])):
        for name, stack in stacks.items():
            packed, scale = mxfp4.pack(stack[expert])
            yield f"{PREFIX}{prefix}.{expert}.{name}.weight_packed", packed
            yield f"{PREFIX}{prefix}.{expert}.{name}.weight_scale", scale


def stored(name: str, value: Tensor, shape: Shape) -> Tensor:
    if name.endswith("A_log"):  # The release stores as many entries as a head is wide.
        value = torch.nn.functional.pad(value, (0, shape.kda_dim - shape.kda_heads))
    return value.float() if name.endswith(F32) else value.to(torch.bfloat16)


def shards_of(parameters: dict[str, Tensor], shape: Shape) -> list[dict[str, Tensor]]:
    shards: list[dict[str, Tensor]] = [{} for _ in range(shape.layers + 1)]
    for name, value in parameters.items():
        layer = int(name.split(".")[2]) if name.startswith("model.layers.") else shape.layers
        prefix, _, last = name.rpartition(".")
        if prefix.endswith(".experts"):
            if last == "w1":
                shards[layer].update(expert_tensors(prefix, parameters))
        else:
            shards[layer][PREFIX + name] = stored(name, value, shape)
    return shards


def load_model(folder: Path) -> Kimi:
    """The model that a checkpoint of `write` holds, its weights exact in fp32."""
    shape = Shape.of_config(json.loads((folder / "config.json").read_text()))
    tensors = read_checkpoint(folder)
    model = Kimi(shape)
    parameters = {}
    for name, value in model.state_dict().items():
        prefix, _, last = name.rpartition(".")
        if prefix.endswith(".experts"):
            key = f"{PREFIX}{prefix}.{{}}.{last}.weight_"
            parameters[name] = torch.stack([
                mxfp4.unpack(tensors[key.format(e) + "packed"], tensors[key.format(e) + "scale"])
                for e in range(shape.experts)])
        else:
            parameters[name] = tensors[PREFIX + name].float()[tuple(map(slice, value.shape))]
    model.load_state_dict(parameters)
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("build/nano"))
    parser.add_argument("--from", dest="trained", type=Path, default=Path("build/nano/trained.pt"))
    parser.add_argument("--to", type=Path, default=Path("models/nano"))
    args = parser.parse_args()
    saved = torch.load(args.trained, map_location="cpu")
    shape = Shape(**saved["shape"])
    write_checkpoint(args.to, shards_of(saved["parameters"], shape))
    config = shape.config()
    (args.to / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    generation = {"max_length": 1048576, "eos_token_id": config["eos_token_id"]}
    (args.to / "generation_config.json").write_text(json.dumps(generation) + "\n")
    shutil.copy(args.data / "tiktoken.model", args.to / "tiktoken.model")
    size = sum(path.stat().st_size for path in args.to.iterdir())
    print(f"{args.to}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
