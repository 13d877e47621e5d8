"""A decoder that was trained by gtrain, for Hugging Face's transformers.

AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)

There is no cache of keys and values, no padding and no dropout.  It needs
nothing but torch and transformers, 4.40 or later.
"""
import torch
import torch.nn.functional as F
from torch import nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput


class GTrainConfig(PretrainedConfig):
    model_type = "gtrain"

    def __init__(self, vocab_size=32, max_position_embeddings=32,
                 hidden_size=32, num_hidden_layers=1,
                 num_attention_heads=1, num_key_value_heads=1,
                 head_dim=None, intermediate_size=128,
                 norm="layernorm", norm_eps=1e-5, norm_bias=True,
                 qkv_bias=True, output_bias=True, mlp_bias=True,
                 final_norm=True, qk_norm=False,
                 mlp="gelu_tanh", position="learned",
                 rope_theta=10000.0, nope_every=0, tied=True, embed_norm=False,
                 softcap=0.0, window=0, window_pattern="SSSL",
                 residual_scale=False, value_embed=False, **kwargs):
        self.vocab_size = vocab_size
        self.max_position_embeddings = max_position_embeddings
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads
        self.num_key_value_heads = num_key_value_heads
        self.head_dim = head_dim or hidden_size // num_attention_heads
        self.intermediate_size = intermediate_size
        self.norm, self.norm_eps, self.norm_bias = norm, norm_eps, norm_bias
        self.qkv_bias, self.output_bias = qkv_bias, output_bias
        self.mlp_bias, self.final_norm = mlp_bias, final_norm
        self.qk_norm, self.mlp, self.tied = qk_norm, mlp, tied
        self.position, self.rope_theta = position, rope_theta
        self.nope_every = nope_every
        self.embed_norm, self.softcap = embed_norm, softcap
        self.window, self.window_pattern = window, window_pattern
        self.residual_scale, self.value_embed = residual_scale, value_embed
        super().__init__(**kwargs)


class Norm(nn.Module):
    def __init__(self, size, kind, eps, bias=False):
        super().__init__()
        self.kind, self.eps = kind, eps
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, x):
        if self.kind == "layernorm":
            return F.layer_norm(x, x.shape[-1:], self.weight, self.bias,
                                self.eps)
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight


class Attention(nn.Module):
    def __init__(self, c, layer):
        super().__init__()
        kind = c.window_pattern[layer % len(c.window_pattern)]
        short = kind == "S" and layer + 1 < c.num_hidden_layers
        self.window = c.window if short else 0
        self.heads, self.kv = c.num_attention_heads, c.num_key_value_heads
        self.size = c.head_dim
        rotates = not c.nope_every or (layer + 1) % c.nope_every
        self.theta = c.rope_theta if c.position == "rope" and rotates else None
        rows = (self.heads + 2 * self.kv) * self.size
        self.qkv = nn.Linear(c.hidden_size, rows, bias=c.qkv_bias)
        self.proj = nn.Linear(self.heads * self.size, c.hidden_size,
                              bias=c.output_bias)
        if c.qk_norm:
            self.q_norm = Norm(self.size, "rmsnorm", c.norm_eps)
            self.k_norm = Norm(self.size, "rmsnorm", c.norm_eps)
        self.qk_norm = c.qk_norm
        self.extra = c.value_embed and \
            (c.num_hidden_layers - 1 - layer) % 2 == 0
        if self.extra:
            self.value_embed = nn.Embedding(c.vocab_size,
                                            self.kv * self.size)
            self.value_gate = nn.Linear(min(32, c.hidden_size), self.kv,
                                        bias=False)

    def turn(self, x):
        T, D = x.shape[-2:]
        at = torch.arange(0, D, 2, device=x.device).double()
        angle = torch.arange(T, device=x.device).double()[:, None] * \
            self.theta ** (-at / D)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., :D // 2], x[..., D // 2:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x, ids):
        B, T = x.shape[:2]
        q, k, v = (t.view(B, T, -1, self.size).transpose(1, 2) for t in
                   self.qkv(x).split([n * self.size for n in
                                      (self.heads, self.kv, self.kv)], -1))
        if self.extra:
            gate = 2 * torch.sigmoid(self.value_gate(
                x[..., :self.value_gate.in_features]))
            e = self.value_embed(ids).view(B, T, -1, self.size)
            v = v + (gate[..., None] * e).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.theta is not None:
            q, k = self.turn(q), self.turn(k)
        k = k.repeat_interleave(self.heads // self.kv, 1)
        v = v.repeat_interleave(self.heads // self.kv, 1)
        mask = None
        if self.window:
            at = torch.arange(T, device=x.device)
            back = at[:, None] - at
            mask = (back >= 0) & (back < self.window)
        y = F.scaled_dot_product_attention(q, k, v, mask,
                                           is_causal=mask is None)
        return self.proj(y.transpose(1, 2).reshape(B, T, -1))


class MLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.kind = c.mlp
        gated = c.mlp in ("swiglu", "geglu")
        self.fc = nn.Linear(c.hidden_size, c.intermediate_size << gated,
                            bias=c.mlp_bias)
        self.proj = nn.Linear(c.intermediate_size, c.hidden_size,
                              bias=c.mlp_bias)

    def forward(self, x):
        h = self.fc(x)
        if self.kind in ("swiglu", "geglu"):
            gate, value = h.chunk(2, -1)
            act = F.silu if self.kind == "swiglu" else F.gelu
            h = act(gate) * value
        elif self.kind == "gelu":
            h = F.gelu(h)
        elif self.kind == "gelu_tanh":
            h = F.gelu(h, approximate="tanh")
        elif self.kind == "relu":
            h = F.relu(h)
        else:
            h = F.relu(h).square()
        return self.proj(h)


class Block(nn.Module):
    def __init__(self, c, layer):
        super().__init__()
        size, bias = c.hidden_size, c.norm_bias and c.norm == "layernorm"
        self.ln_1 = Norm(size, c.norm, c.norm_eps, bias)
        self.attn = Attention(c, layer)
        self.ln_2 = Norm(size, c.norm, c.norm_eps, bias)
        self.mlp = MLP(c)
        self.mix = nn.ParameterDict(
            {"residual": torch.ones(1), "embed": torch.zeros(1)}
            if c.residual_scale else {})

    def forward(self, x, embed, ids):
        if self.mix:
            x = self.mix["residual"] * x + self.mix["embed"] * embed
        x = x + self.attn(self.ln_1(x), ids)
        return x + self.mlp(self.ln_2(x))


class GTrainForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = GTrainConfig

    def __init__(self, config):
        super().__init__(config)
        c, size = config, config.hidden_size
        self.wte = nn.Embedding(c.vocab_size, size)
        if c.position == "learned":
            self.wpe = nn.Embedding(c.max_position_embeddings, size)
        bias = c.norm_bias and c.norm == "layernorm"
        if c.embed_norm:
            self.ln_e = Norm(size, c.norm, c.norm_eps, bias)
        self.h = nn.ModuleList(Block(c, layer) for layer in
                               range(c.num_hidden_layers))
        if c.final_norm:
            self.ln_f = Norm(size, c.norm, c.norm_eps, bias)
        if not c.tied:
            self.lm_head = nn.Linear(size, c.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.wte

    def get_output_embeddings(self):
        return None if self.config.tied else self.lm_head

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        return {"input_ids":
                input_ids[:, -self.config.max_position_embeddings:]}

    def forward(self, input_ids, attention_mask=None, labels=None,
                **kwargs):
        if attention_mask is not None and not attention_mask.bool().all():
            raise ValueError("padding is not supported")
        x = self.wte(input_ids)
        if self.config.position == "learned":
            x = x + self.wpe.weight[:x.shape[1]]
        if self.config.embed_norm:
            x = self.ln_e(x)
        embed = x
        for block in self.h:
            x = block(x, embed, input_ids)
        if self.config.final_norm:
            x = self.ln_f(x)
        head = self.wte if self.config.tied else self.lm_head
        logits = F.linear(x, head.weight)
        if self.config.softcap:
            logits = torch.tanh(logits / self.config.softcap) * \
                self.config.softcap
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1).float(),
                                   labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits)
