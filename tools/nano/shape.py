"""The shape of the shipped model and its config.json."""

from __future__ import annotations

from dataclasses import dataclass

# Overrides for a shape with the same parts that trains for a few steps in seconds on any machine.
SMOKE = {"hidden": 64, "kda_heads": 2, "kda_dim": 32, "mla_heads": 2, "q_lora": 32, "kv_lora": 32,
         "nope": 32, "rope": 16, "value": 32, "dense_hidden": 128, "experts": 8, "top_k": 4,
         "latent": 32, "expert_hidden": 32}


@dataclass(frozen=True)
class Shape:
    """Field names are shorter than in config.json; `config()` has the released names."""

    vocab: int
    hidden: int = 256
    layers: int = 11
    mla_layers: tuple[int, ...] = (4, 8, 10, 11)  # Counted from 1, as config.json does.
    block: int = 4  # Anchors at layers 0, 4 and 8; the last block has three layers.
    kda_heads: int = 4
    kda_dim: int = 64
    conv: int = 4
    gate_lower_bound: float = -5.0
    mla_heads: int = 4
    q_lora: int = 128
    kv_lora: int = 128
    nope: int = 64
    rope: int = 32  # Not rotated: the model has no positions.
    value: int = 64
    dense_hidden: int = 1024
    experts: int = 40
    top_k: int = 6
    latent: int = 192
    expert_hidden: int = 128
    shared_experts: int = 2
    norm_eps: float = 1e-5
    mla_norm_eps: float = 1e-6
    situ_beta: float = 4.0
    situ_linear_beta: float = 25.0

    @property
    def kda_width(self) -> int:
        return self.kda_heads * self.kda_dim

    def is_mla(self, layer: int) -> bool:
        return layer + 1 in self.mla_layers

    @staticmethod
    def of_config(config: dict) -> Shape:
        text = config["text_config"]
        linear = text["linear_attn_config"]
        return Shape(
            vocab=text["vocab_size"], hidden=text["hidden_size"], layers=text["num_hidden_layers"],
            mla_layers=tuple(linear["full_attn_layers"]), block=text["attn_res_block_size"],
            kda_heads=linear["num_heads"], kda_dim=linear["head_dim"],
            conv=linear["short_conv_kernel_size"], gate_lower_bound=linear["gate_lower_bound"],
            mla_heads=text["num_attention_heads"], q_lora=text["q_lora_rank"],
            kv_lora=text["kv_lora_rank"], nope=text["qk_nope_head_dim"],
            rope=text["qk_rope_head_dim"], value=text["v_head_dim"],
            dense_hidden=text["intermediate_size"], experts=text["num_experts"],
            top_k=text["num_experts_per_token"], latent=text["routed_expert_hidden_size"],
            expert_hidden=text["moe_intermediate_size"], shared_experts=text["num_shared_experts"],
            norm_eps=text["rms_norm_eps"], situ_beta=text["activation_situ_beta"],
            situ_linear_beta=text["activation_situ_linear_beta"])

    def config(self) -> dict:
        """config.json of the released layout."""
        from tokenizer import BOS, END_OF_MESSAGE, PAD, SPECIAL_SLOTS

        first_special = self.vocab - SPECIAL_SLOTS
        specials = {"bos_token_id": first_special + BOS,
                    "eos_token_id": first_special + END_OF_MESSAGE,
                    "pad_token_id": first_special + PAD}
        numbers = range(1, self.layers + 1)
        text = {
            "model_type": "kimi_linear",
            "vocab_size": self.vocab,
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "max_position_embeddings": 1048576,
            "rms_norm_eps": self.norm_eps,
            "hidden_act": "situ",
            "activation_situ_beta": self.situ_beta,
            "activation_situ_linear_beta": self.situ_linear_beta,
            "intermediate_size": self.dense_hidden,
            "first_k_dense_replace": 1,
            "moe_layer_freq": 1,
            "num_experts": self.experts,
            "num_experts_per_token": self.top_k,
            "num_shared_experts": self.shared_experts,
            "moe_intermediate_size": self.expert_hidden,
            "routed_expert_hidden_size": self.latent,
            "latent_moe_use_norm": True,
            "moe_router_activation_func": "sigmoid",
            "topk_method": "noaux_tc",
            "moe_renormalize": True,
            "routed_scaling_factor": 1.0,
            "use_grouped_topk": True,
            "num_expert_group": 1,
            "topk_group": 1,
            "num_attention_heads": self.mla_heads,
            "num_key_value_heads": self.mla_heads,
            "q_lora_rank": self.q_lora,
            "kv_lora_rank": self.kv_lora,
            "qk_nope_head_dim": self.nope,
            "qk_rope_head_dim": self.rope,
            "v_head_dim": self.value,
            "mla_use_nope": True,
            "mla_use_output_gate": True,
            "attn_res_block_size": self.block,
            "tie_word_embeddings": False,
            "linear_attn_config": {
                "num_heads": self.kda_heads,
                "head_dim": self.kda_dim,
                "short_conv_kernel_size": self.conv,
                "gate_lower_bound": self.gate_lower_bound,
                "use_full_rank_gate": True,
                "full_attn_layers": list(self.mla_layers),
                "kda_layers": [n for n in numbers if n not in self.mla_layers],
            },
            "quantization_config": {"format": "mxfp4-pack-quantized",
                                    "quant_method": "compressed-tensors"},
            **specials,
        }
        return {"architectures": ["KimiK3ForConditionalGeneration"], "model_type": "kimi_k3",
                "dtype": "bfloat16", "tie_word_embeddings": False, **specials, "text_config": text}
