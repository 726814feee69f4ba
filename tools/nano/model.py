"""Kimi K3 in PyTorch. Parameters carry the released tensor names, except that the routed experts of
a layer are stacked."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import mxfp4
from kda import delta_rule, fused
from shape import Shape


@fused
def rms(x: Tensor, gamma: Tensor, eps: float) -> Tensor:
    x = x.float()
    return gamma * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


@fused
def situ(gate: Tensor, up: Tensor, b1: float, b2: float) -> Tensor:
    return b1 * torch.tanh(gate / b1) * torch.sigmoid(gate) * b2 * torch.tanh(up / b2)


class Weight(nn.Module):
    """One matrix or vector, called NAME.weight in the checkpoint."""

    def __init__(self, value: Tensor):
        super().__init__()
        self.weight = nn.Parameter(value)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight)


def matrix(outputs: int, inputs: int, gain: float = 1.0) -> Weight:
    return Weight(torch.randn(outputs, inputs) * gain * inputs**-0.5)


def ones(size: int) -> Weight:
    return Weight(torch.ones(size))


@fused
def depth_mix(sources: Tensor, norm: Tensor, proj: Tensor, eps: float) -> Tensor:
    """Block attention residuals: a softmax over depth, per token. sources [depth, ..., hidden]."""
    scale = torch.rsqrt(sources.square().mean(-1) + eps)
    weights = ((sources * (norm * proj)).sum(-1) * scale).softmax(0)
    return (weights.unsqueeze(-1) * sources).sum(0)


def mix(anchors: list[Tensor], h: Tensor, norm: Weight, proj: Weight, eps: float) -> Tensor:
    return depth_mix(torch.stack([*anchors, h]), norm.weight, proj.weight[0], eps)


@fused
def short_convolution(x: Tensor, taps: Tensor) -> Tensor:
    """SiLU of the causal convolution of each channel. x [batch, tokens, width], taps [width, n];
    the last tap meets the current token."""
    padded = F.pad(x.float(), (0, 0, taps.shape[1] - 1, 0))
    return F.silu(sum(taps[:, j] * padded[:, j : j + x.shape[1]] for j in range(taps.shape[1])))


class KimiDeltaAttention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        width, hidden = shape.kda_width, shape.hidden
        for name in ("q", "k", "v"):
            self.add_module(f"{name}_proj", matrix(width, hidden))
            taps = torch.zeros(width, 1, shape.conv)
            taps[:, 0, -1] = 1.0
            self.add_module(f"{name}_conv1d", Weight(taps + 0.1 * torch.randn_like(taps)))
        self.g_proj = matrix(width, hidden)
        self.f_a_proj = matrix(shape.kda_dim, hidden)
        self.f_b_proj = matrix(width, shape.kda_dim, 0.5)
        # Memories of one token to a few hundred.
        self.dt_bias = nn.Parameter(torch.empty(width).uniform_(-7.0, -1.0))
        self.A_log = nn.Parameter(torch.zeros(shape.kda_heads))
        self.b_proj = matrix(shape.kda_heads, hidden)
        self.o_norm = ones(shape.kda_dim)
        self.o_proj = matrix(hidden, width, 0.5)

    def _convolved(self, name: str, x: Tensor) -> Tensor:
        """[batch, heads, tokens, dim], fp32."""
        projected = getattr(self, f"{name}_proj")(x)
        mixed = short_convolution(projected, getattr(self, f"{name}_conv1d").weight[:, 0])
        return mixed.unflatten(-1, (self.shape.kda_heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        shape = self.shape
        q, k, v = (self._convolved(name, x) for name in ("q", "k", "v"))
        q = q * torch.rsqrt(q.square().sum(-1, keepdim=True) + 1e-6) * shape.kda_dim**-0.5
        k = k * torch.rsqrt(k.square().sum(-1, keepdim=True) + 1e-6)
        z = self.f_b_proj(self.f_a_proj(x)).float() + self.dt_bias
        z = z.unflatten(-1, (shape.kda_heads, -1)).transpose(1, 2)
        log_decay = shape.gate_lower_bound * torch.sigmoid(self.A_log.exp()[:, None, None] * z)
        beta = torch.sigmoid(self.b_proj(x).float()).transpose(1, 2)
        out = delta_rule(q, k, v, log_decay, beta)
        out = rms(out, self.o_norm.weight, shape.norm_eps).transpose(1, 2).flatten(2)
        return self.o_proj(out * torch.sigmoid(self.g_proj(x).float()))


class LatentAttention(nn.Module):
    """Gated multi-head latent attention without positions."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        heads, hidden = shape.mla_heads, shape.hidden
        self.q_a_proj = matrix(shape.q_lora, hidden)
        self.q_a_layernorm = ones(shape.q_lora)
        self.q_b_proj = matrix(heads * (shape.nope + shape.rope), shape.q_lora)
        self.kv_a_proj_with_mqa = matrix(shape.kv_lora + shape.rope, hidden)
        self.kv_a_layernorm = ones(shape.kv_lora)
        self.kv_b_proj = matrix(heads * (shape.nope + shape.value), shape.kv_lora)
        self.g_proj = matrix(heads * shape.value, hidden)
        self.o_proj = matrix(hidden, heads * shape.value, 0.5)

    def forward(self, x: Tensor) -> Tensor:
        shape = self.shape
        eps = shape.mla_norm_eps
        q = self.q_b_proj(rms(self.q_a_proj(x), self.q_a_layernorm.weight, eps))
        q = q.unflatten(-1, (shape.mla_heads, -1)).transpose(1, 2)
        latent, shared_key = self.kv_a_proj_with_mqa(x).split([shape.kv_lora, shape.rope], -1)
        kv = self.kv_b_proj(rms(latent, self.kv_a_layernorm.weight, eps))
        kv = kv.unflatten(-1, (shape.mla_heads, -1)).transpose(1, 2)
        k, v = kv.split([shape.nope, shape.value], -1)
        shared_key = shared_key.unsqueeze(1).expand(-1, shape.mla_heads, -1, -1)
        scores = q @ torch.cat([k, shared_key], -1).transpose(-1, -2)
        scores = scores.float() * (shape.nope + shape.rope) ** -0.5
        tokens = x.shape[1]
        hidden = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        out = (weights.to(v.dtype) @ v).transpose(1, 2).flatten(2)
        return self.o_proj(out * torch.sigmoid(self.g_proj(x)))


class Mlp(nn.Module):
    def __init__(self, width: int, shape: Shape):
        super().__init__()
        self.betas = shape.situ_beta, shape.situ_linear_beta
        self.gate_proj = matrix(width, shape.hidden)
        self.up_proj = matrix(width, shape.hidden)
        self.down_proj = matrix(shape.hidden, width, 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(situ(self.gate_proj(x), self.up_proj(x), *self.betas))


class Experts(nn.Module):
    """The routed experts of one layer: w1 gate, w3 up [experts, hidden, latent], w2 down."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        inner, latent = shape.expert_hidden, shape.latent
        self.w1 = nn.Parameter(torch.randn(shape.experts, inner, latent) * latent**-0.5)
        self.w3 = nn.Parameter(torch.randn(shape.experts, inner, latent) * latent**-0.5)
        self.w2 = nn.Parameter(torch.randn(shape.experts, latent, inner) * inner**-0.5)
        self.quantize = False

    def forward(self, z: Tensor, ids: Tensor, weights: Tensor) -> Tensor:
        """z [rows, latent], ids and weights [rows, k] to the weighted sum [rows, latent]."""
        shape = self.shape
        w1, w3, w2 = (mxfp4.quantized(w) if self.quantize else w for w in (self.w1, self.w3, self.w2))
        # Every row is copied into the seats of its experts; all experts get as many seats as the
        # busiest one needs.
        flat = ids.flatten()
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=shape.experts)
        seats = int(counts.max())
        rank = torch.empty_like(flat)
        starts = counts.cumsum(0) - counts
        rank[order] = torch.arange(flat.numel(), device=z.device) - starts[flat[order]]
        seat = flat * seats + rank
        rows = torch.arange(z.shape[0], device=z.device).repeat_interleave(ids.shape[1])
        seated = z.new_zeros(shape.experts * seats, z.shape[1]).index_copy(0, seat, z[rows])
        seated = seated.view(shape.experts, seats, -1)
        inner = situ(seated @ w1.transpose(1, 2), seated @ w3.transpose(1, 2), shape.situ_beta,
                     shape.situ_linear_beta)
        out = (inner @ w2.transpose(1, 2)).flatten(0, 1)[seat].view(*ids.shape, -1)
        return (out.float() * weights.unsqueeze(-1)).sum(1)


class LatentMoe(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.gate = matrix(shape.experts, shape.hidden)
        self.gate.register_buffer("e_score_correction_bias", torch.zeros(shape.experts))
        self.routed_expert_down_proj = matrix(shape.latent, shape.hidden)
        self.routed_expert_norm = ones(shape.latent)
        self.routed_expert_up_proj = matrix(shape.hidden, shape.latent, 0.5)
        self.shared_experts = Mlp(shape.shared_experts * shape.expert_hidden, shape)
        self.experts = Experts(shape)
        self.counts: Tensor | None = None  # Rows per expert in the last pass.

    def route(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """ids and weights [rows, k]. The bias decides who is chosen, never how much it counts."""
        with torch.autocast(x.device.type, enabled=False):
            scores = torch.sigmoid(F.linear(x.float(), self.gate.weight.bfloat16().float()))
        biased = scores.detach() + self.gate.e_score_correction_bias
        ids = biased.topk(self.shape.top_k, -1).indices
        chosen = scores.gather(-1, ids)
        return ids, chosen / (chosen.sum(-1, keepdim=True) + 1e-20)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)
        ids, weights = self.route(rows)
        self.counts = torch.bincount(ids.flatten(), minlength=self.shape.experts)
        latent = self.experts(self.routed_expert_down_proj(rows), ids, weights)
        latent = rms(latent, self.routed_expert_norm.weight, self.shape.norm_eps)
        return self.routed_expert_up_proj(latent).view_as(x) + self.shared_experts(x)


class Layer(nn.Module):
    def __init__(self, index: int, shape: Shape):
        super().__init__()
        self.shape = shape
        self.starts_block = index % shape.block == 0
        self.input_layernorm, self.post_attention_layernorm = ones(shape.hidden), ones(shape.hidden)
        self.self_attention_res_norm, self.mlp_res_norm = ones(shape.hidden), ones(shape.hidden)
        self.self_attention_res_proj = Weight(torch.zeros(1, shape.hidden))
        self.mlp_res_proj = Weight(torch.zeros(1, shape.hidden))
        self.self_attn = LatentAttention(shape) if shape.is_mla(index) else KimiDeltaAttention(shape)
        if index == 0:
            self.mlp = Mlp(shape.dense_hidden, shape)
        else:
            self.block_sparse_moe = LatentMoe(shape)

    def forward(self, h: Tensor, anchors: list[Tensor]) -> Tensor:
        """Returns the stream; a layer that starts a block appends to `anchors`."""
        eps = self.shape.norm_eps
        a = h
        if anchors:
            a = mix(anchors, h, self.self_attention_res_norm, self.self_attention_res_proj, eps)
        out = self.self_attn(rms(a, self.input_layernorm.weight, eps)).float()
        if self.starts_block:
            anchors.append(h)
            h = out
        else:
            h = h + out
        m = mix(anchors, h, self.mlp_res_norm, self.mlp_res_proj, eps)
        m = rms(m, self.post_attention_layernorm.weight, eps)
        ffn = self.mlp if hasattr(self, "mlp") else self.block_sparse_moe
        return h + ffn(m).float()


class Stack(nn.Module):
    """Everything whose names begin with `model.`."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.embed_tokens = Weight(torch.randn(shape.vocab, shape.hidden) * 0.5)
        self.layers = nn.ModuleList(Layer(l, shape) for l in range(shape.layers))
        self.output_attn_res_norm = ones(shape.hidden)
        self.output_attn_res_proj = Weight(torch.zeros(1, shape.hidden))
        self.norm = ones(shape.hidden)


class Kimi(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.model = Stack(shape)
        self.lm_head = matrix(shape.vocab, shape.hidden)

    def moe_layers(self) -> list[LatentMoe]:
        return [l.block_sparse_moe for l in self.model.layers if hasattr(l, "block_sparse_moe")]

    def quantize_experts(self, on: bool) -> None:
        for moe in self.moe_layers():
            moe.experts.quantize = on

    def streams(self, ids: Tensor) -> tuple[list[Tensor], Tensor]:
        """ids [batch, tokens] to the stream after each layer and the normed output [batch, tokens,
        hidden]."""
        h = F.embedding(ids, self.model.embed_tokens.weight)
        anchors: list[Tensor] = []
        after: list[Tensor] = []
        for layer in self.model.layers:
            h = layer(h, anchors)
            after.append(h)
        eps, stack = self.shape.norm_eps, self.model
        out = mix(anchors, h, stack.output_attn_res_norm, stack.output_attn_res_proj, eps)
        return after, rms(out, stack.norm.weight, eps)

    def forward(self, ids: Tensor) -> Tensor:
        """ids [batch, tokens], to logits [batch, tokens, vocab]."""
        return self.lm_head(self.streams(ids)[1])
