"""The recurrence of Kimi Delta Attention, in chunks for training."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


def fused(function: Callable) -> Callable:
    """On a GPU the elementwise steps of `function` run as a few kernels instead of one each."""
    return torch.compile(function) if torch.cuda.is_available() else function


# A log decay is above -5 a token, so that within a chunk of 16 tokens, seen from its middle, no
# factor passes e^45. Longer chunks would overflow fp32.
CHUNK = 16


def delta_rule(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor) -> Tensor:
    """q, k, v, log_decay [batch, heads, tokens, dim], beta [batch, heads, tokens], fp32.

    Per token: S = diag(exp(log_decay)) S; S += k (beta (v - S^T k))^T; out = S^T q.
    """
    tokens = q.shape[2]
    with torch.autocast(q.device.type, enabled=False):
        return _chunked(*(_in_chunks(x.float()) for x in (q, k, v, log_decay, beta[..., None])))[
            :, :, :tokens]


class _Factors(NamedTuple):
    """Queries and keys with the decay between a token and a place of its chunk in them."""

    q_start: Tensor  # From the start of the chunk to the token.
    k_start: Tensor
    q_late: Tensor  # From the middle to the token; the late ones meet early ones.
    k_late: Tensor
    k_early: Tensor  # From the token to the middle.
    k_end: Tensor  # From the token to the end.
    decay: Tensor  # From start to end.


@fused
def _factors(q: Tensor, k: Tensor, log_decay: Tensor) -> _Factors:
    total = log_decay.cumsum(3)
    middle = total[..., CHUNK // 2 : CHUNK // 2 + 1, :]
    end = total[..., -1:, :]
    return _Factors(q_start=q * total.exp(), k_start=k * total.exp(),
                    q_late=q * torch.exp(total - middle), k_late=k * torch.exp(total - middle),
                    k_early=k * torch.exp(middle - total), k_end=k * torch.exp(end - total),
                    decay=end.squeeze(-2).exp())


def _in_chunks(x: Tensor) -> Tensor:
    """[batch, heads, chunks, 16, dim]. Added tokens are zero: they decay nothing and write nothing."""
    return F.pad(x, (0, 0, 0, -x.shape[2] % CHUNK)).unflatten(2, (-1, CHUNK))


def _chunked(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor) -> Tensor:
    factors = _factors(q, k, log_decay)
    # What a token writes depends on what the earlier ones of the chunk wrote: (I + L) U = R.
    lower = (beta * (factors.k_late @ factors.k_early.mT)).tril(-1)
    unit = torch.eye(CHUNK, device=q.device)
    solve = torch.linalg.solve_triangular(unit + lower, unit.expand_as(lower), upper=False,
                                          unitriangular=True)
    new_values = solve @ (beta * v)
    old_reads = solve @ (beta * factors.k_start)
    attention = (factors.q_late @ factors.k_early.mT).tril()

    # From chunk to chunk the state changes affinely: S = transition S + addition.
    transition = torch.diag_embed(factors.decay) - factors.k_end.mT @ old_reads
    addition = factors.k_end.mT @ new_values
    states = [torch.zeros_like(addition[:, :, 0])]
    # unbind, because the gradient of an indexed chunk would be as large as all chunks.
    for step, new in zip(transition.unbind(2)[:-1], addition.unbind(2)[:-1]):
        states.append(step @ states[-1] + new)
    state = torch.stack(states, 2)
    written = new_values - old_reads @ state
    return (factors.q_start @ state + attention @ written).flatten(2, 3)
