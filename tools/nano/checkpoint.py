"""The released checkpoint layout: safetensors shards, one layer each, with an index."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

_NAMES = {torch.bfloat16: "BF16", torch.float32: "F32", torch.uint8: "U8",
          torch.int32: "I32"}
_TYPES = {name: dtype for dtype, name in _NAMES.items()}


def _bytes(tensor: Tensor) -> bytes:
    tensor = tensor.contiguous()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy().tobytes()


def write_shard(path: Path, tensors: dict[str, Tensor]) -> int:
    """Tensors lie in the order given. Returns their bytes."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(_bytes(tensor))
    return at


def read_shard(path: Path) -> dict[str, Tensor]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = _TYPES[entry["dtype"]]
        storage = torch.int16 if dtype == torch.bfloat16 else dtype
        raw = np.frombuffer(data[begin:end], torch.empty(0, dtype=storage).numpy().dtype)
        tensors[name] = torch.from_numpy(raw.copy()).view(dtype).reshape(entry["shape"])
    return tensors


def write_checkpoint(folder: Path, shards: list[dict[str, Tensor]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    total, where = 0, {}
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05d}-of-{len(shards):06d}.safetensors"
        total += write_shard(folder / name, tensors)
        where.update(dict.fromkeys(tensors, name))
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def read_checkpoint(folder: Path) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in sorted(folder.glob("model-*.safetensors")):
        tensors.update(read_shard(path))
    return tensors
