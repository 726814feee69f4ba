"""MXFP4: 4-bit floats in groups of 32 input columns, each with a power of two as its scale."""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 32
VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
# Between two values the nearer one is taken.
_MIDDLES = tuple((low + high) / 2 for low, high in zip(VALUES, VALUES[1:]))


def _groups_and_exponents(weight: Tensor) -> tuple[Tensor, Tensor]:
    """weight [..., columns] in groups [..., columns / 32, 32], and the least exponent per group
    with which the largest weight does not saturate."""
    groups = weight.unflatten(-1, (-1, GROUP))
    largest = groups.abs().amax(-1, keepdim=True).clamp_min(2.0**-60)
    return groups, torch.ceil(torch.log2(largest / VALUES[-1]))


def _magnitude_index(scaled: Tensor) -> Tensor:
    return torch.bucketize(scaled.abs(), torch.tensor(_MIDDLES, device=scaled.device))


def quantized(weight: Tensor) -> Tensor:
    """The weights as MXFP4 stores them; gradients pass as if nothing had been rounded."""
    with torch.no_grad():
        groups, exponent = _groups_and_exponents(weight)
        scale = torch.exp2(exponent)
        values = torch.tensor(VALUES, device=weight.device)[_magnitude_index(groups / scale)]
        rounded = (torch.copysign(values, groups) * scale).flatten(-2)
    return weight + (rounded - weight).detach()


def pack(weight: Tensor) -> tuple[Tensor, Tensor]:
    """weight [rows, columns] to codes [rows, columns / 2] and scales [rows, columns / 32], bytes.
    The low half of a byte is the even column."""
    groups, exponent = _groups_and_exponents(weight.float())
    index = _magnitude_index(groups / torch.exp2(exponent))
    codes = (index + 8 * torch.signbit(groups)).to(torch.uint8).flatten(-2)
    return codes[:, 0::2] | codes[:, 1::2] << 4, (exponent.squeeze(-1) + 127).to(torch.uint8)


def unpack(codes: Tensor, scales: Tensor) -> Tensor:
    """The weights that `pack` stored, fp32, exact."""
    nibbles = torch.stack([codes & 15, codes >> 4], -1).flatten(-2).long()
    values = torch.tensor(VALUES)[nibbles & 7] * torch.where(nibbles >= 8, -1.0, 1.0)
    groups = values.unflatten(-1, (-1, GROUP)) * torch.exp2(scales.float() - 127).unsqueeze(-1)
    return groups.flatten(-2)
