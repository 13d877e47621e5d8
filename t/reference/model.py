#!/usr/bin/env python3
"""Make t/reference/model.txt: what PyTorch computes for small models.

usage: model.py > model.txt

For each variant of the model: the settings, the norm of every gradient and
its product with a fixed vector, and loss and gradient norm of 50 steps of
AdamW, all in float64.  The last numbers of a line are how far from that float32
is, relative, in the furthest of RUNS trainings up to that step: the first from
the same weights, the others from weights that differ by at most one unit in the
last place (doc/numerics.md).  Weights and tokens are a hash of their place, the
same in t/unit/model.c.
"""
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

BATCH, STEPS = 3, 50
RUNS = [0] + 49 * [1]
BASE = dict(layers=2, heads=4, kv_heads=0, width=32, d_ff=0, context=12,
            vocab=53, vocab_multiple=16, norm="layernorm", norm_bias="yes",
            linear_bias="yes", final_norm="yes", mlp="gelu_tanh",
            position="learned", tied="yes", qk_norm="no")
VARIANTS = {
    "gpt2": {},
    "llama": dict(norm="rmsnorm", linear_bias="no", mlp="swiglu", d_ff=48,
                  position="rope", kv_heads=2, tied="no"),
    "rmsnorm": dict(norm="rmsnorm"),
    "no-norm-bias": dict(norm_bias="no"),
    "no-linear-bias": dict(linear_bias="no"),
    "no-final-norm": dict(final_norm="no"),
    "gelu": dict(mlp="gelu"),
    "relu": dict(mlp="relu"),
    "relu2": dict(mlp="relu2"),
    "swiglu": dict(mlp="swiglu"),
    "geglu": dict(mlp="geglu"),
    "rope": dict(position="rope"),
    "no-position": dict(position="none"),
    "untied": dict(tied="no"),
    "grouped": dict(kv_heads=2),
    "one-kv-head": dict(kv_heads=1),
    "qk-norm": dict(qk_norm="yes"),
    "qk-norm-rope-grouped": dict(qk_norm="yes", position="rope", kv_heads=2),
    "c4-30M": dict(tied="no", mlp="swiglu", d_ff=64, linear_bias="no",
                   final_norm="no", vocab_multiple=1),
    "embed-norm": dict(embed_norm="yes"),
    "softcap": dict(softcap=0.5),
    "window": dict(layers=3, window=5, window_pattern="SL", kv_heads=2),
    "residual-scale": dict(residual_scale="yes"),
    "value-embed": dict(layers=3, value_embed="yes", kv_heads=2, qk_norm="yes",
                        position="rope", width=40),
    "head-dim": dict(head_dim=12, kv_heads=2, position="rope", qk_norm="yes"),
    "qkv-bias": dict(norm="rmsnorm", linear_bias="no", qkv_bias="yes",
                     mlp="swiglu", d_ff=48, position="rope", kv_heads=2),
}


def hashed(n, salt):
    """n numbers in [-0.5, 0.5): integers mixed as in t/unit/model.c"""
    x = np.arange(n, dtype=np.uint64) + np.uint64(salt) * np.uint64(1000003)
    x = (x * np.uint64(2654435761)) & np.uint64(0xffffffff)
    x ^= x >> np.uint64(15)
    x = (x * np.uint64(2246822519)) & np.uint64(0xffffffff)
    x ^= x >> np.uint64(13)
    return x.astype(np.float64) / 4294967296.0 - 0.5


class Model:
    """In type; if moved, from weights that differ at random by at most one unit
    in the last place of a float32."""

    def __init__(self, c, type, moved=False):
        self.c, self.type, self.moved = c, type, moved
        self.params = {}
        C, V, T = c["width"], c["vocab"], c["context"]
        self.H = c["heads"]
        self.K = c["kv_heads"] or self.H
        self.D = c.get("head_dim") or C // self.H
        Vp = -(-V // c["vocab_multiple"]) * c["vocab_multiple"]
        Fw = c["d_ff"] or 4 * C
        gated = c["mlp"] in ("swiglu", "geglu")
        self.add("wte.weight", Vp, C)
        if c["position"] == "learned":
            self.add("wpe.weight", T, C)
        if c.get("embed_norm") == "yes":
            self.norm("ln_e", C)
        for l in range(c["layers"]):
            h = f"h.{l}."
            if c.get("residual_scale") == "yes":
                self.add(h + "mix.residual", 1)
                self.add(h + "mix.embed", 1)
            self.norm(h + "ln_1", C)
            self.linear(h + "attn.qkv", (self.H + 2 * self.K) * self.D, C)
            if c.get("value_embed") == "yes" and (c["layers"] - l) % 2:
                self.add(h + "attn.value_embed.weight", Vp, self.K * self.D)
                self.add(h + "attn.value_gate.weight", self.K, min(32, C))
            if c["qk_norm"] == "yes":
                self.add(h + "attn.q_norm.weight", self.D)
                self.add(h + "attn.k_norm.weight", self.D)
            self.linear(h + "attn.proj", C, self.H * self.D)
            self.norm(h + "ln_2", C)
            self.linear(h + "mlp.fc", 2 * Fw if gated else Fw, C)
            self.linear(h + "mlp.proj", C, Fw)
        if c["final_norm"] == "yes":
            self.norm("ln_f", C)
        if c["tied"] == "no":
            self.add("lm_head.weight", Vp, C)

    def add(self, name, *shape):
        n = int(np.prod(shape))
        w = hashed(n, len(self.params) + 1) * 0.2
        if len(shape) == 1 and name.endswith("weight"):
            w += 1.0            # a norm's
        # as float32 holds it
        w = torch.tensor(w.astype(np.float32).astype(np.float64))
        if self.moved:
            w *= 1 + 2.0 ** -23 * (2 * torch.rand_like(w) - 1)
        self.params[name] = w.to(self.type).reshape(shape).requires_grad_(True)

    def linear(self, name, rows, cols):
        self.add(name + ".weight", rows, cols)
        kind = {"qkv": "qkv_bias", "proj": "output_bias"}.get(
            name.rpartition("attn.")[2], "mlp_bias")
        bias = self.c.get(kind, "auto")
        if (self.c["linear_bias"] if bias == "auto" else bias) == "yes":
            self.add(name + ".bias", rows)

    def norm(self, name, width):
        self.add(name + ".weight", width)
        if self.c["norm"] == "layernorm" and self.c["norm_bias"] == "yes":
            self.add(name + ".bias", width)

    def p(self, name):
        return self.params.get(name)

    def run_linear(self, x, name):
        return F.linear(x, self.p(name + ".weight"), self.p(name + ".bias"))

    def run_norm(self, x, name):
        w, b = self.p(name + ".weight"), self.p(name + ".bias")
        if self.c["norm"] == "layernorm":
            return F.layer_norm(x, x.shape[-1:], w, b, 1e-5)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w

    def rotate(self, x):
        T, D = x.shape[-2], x.shape[-1]
        inv = 10000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
        a = torch.arange(T, dtype=torch.float64)[:, None] * inv[None]
        cos, sin = torch.cos(a).to(x.dtype), torch.sin(a).to(x.dtype)
        x1, x2 = x[..., : D // 2], x[..., D // 2:]
        return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)

    def window(self, layer):
        pattern = self.c.get("window_pattern", "L")
        short = pattern[layer % len(pattern)] == "S"
        last = layer + 1 == self.c["layers"]
        return self.c["window"] if short and not last else self.c["context"]

    def attention(self, x, name, ids):
        B, T, C = x.shape
        H, K, D = self.H, self.K, self.D
        qkv = self.run_linear(x, name + ".qkv")
        q, k, v = qkv.split([H * D, K * D, K * D], -1)
        q = q.view(B, T, H, D).transpose(1, 2)
        k = k.view(B, T, K, D).transpose(1, 2)
        v = v.view(B, T, K, D).transpose(1, 2)
        gate = self.p(name + ".value_gate.weight")
        if gate is not None:
            e = self.p(name + ".value_embed.weight")[ids].view(B, T, K, D)
            g = 2 * torch.sigmoid(F.linear(x[..., : gate.shape[1]], gate))
            v = v + (g[..., None] * e).transpose(1, 2)
        if self.c["qk_norm"] == "yes":
            def rms(t, w):
                return t * torch.rsqrt((t * t).mean(-1, keepdim=True)
                                       + 1e-5) * w
            q = rms(q, self.p(name + ".q_norm.weight"))
            k = rms(k, self.p(name + ".k_norm.weight"))
        if self.c["position"] == "rope":
            q, k = self.rotate(q), self.rotate(k)
        k = k.repeat_interleave(H // K, 1)
        v = v.repeat_interleave(H // K, 1)
        back = torch.arange(T)[:, None] - torch.arange(T)
        y = F.scaled_dot_product_attention(
            q, k, v, (back >= 0) & (back < self.window(int(name.split(".")[1]))))
        y = y.transpose(1, 2).reshape(B, T, H * D)
        return self.run_linear(y, name + ".proj")

    def mlp(self, x, name):
        kind = self.c["mlp"]
        h = self.run_linear(x, name + ".fc")
        if kind in ("swiglu", "geglu"):
            gate, value = h.chunk(2, -1)
            h = (F.silu(gate) if kind == "swiglu" else F.gelu(gate)) * value
        else:
            h = {"gelu": F.gelu,
                 "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
                 "relu": F.relu,
                 "relu2": lambda t: F.relu(t) ** 2}[kind](h)
        return self.run_linear(h, name + ".proj")

    def loss(self, x, y):
        h = self.p("wte.weight")[x]
        if self.c["position"] == "learned":
            h = h + self.p("wpe.weight")[: x.shape[1]]
        if self.c.get("embed_norm") == "yes":
            h = self.run_norm(h, "ln_e")
        embed = h
        for l in range(self.c["layers"]):
            if self.c.get("residual_scale") == "yes":
                h = (self.p(f"h.{l}.mix.residual") * h
                     + self.p(f"h.{l}.mix.embed") * embed)
            h = h + self.attention(self.run_norm(h, f"h.{l}.ln_1"),
                                   f"h.{l}.attn", x)
            h = h + self.mlp(self.run_norm(h, f"h.{l}.ln_2"), f"h.{l}.mlp")
        if self.c["final_norm"] == "yes":
            h = self.run_norm(h, "ln_f")
        head = self.p("wte.weight" if self.c["tied"] == "yes"
                      else "lm_head.weight")
        logits = F.linear(h, head)[..., : self.c["vocab"]]
        cap = self.c.get("softcap", 0)
        if cap:
            logits = cap * torch.tanh(logits / cap)
        return F.cross_entropy(logits.reshape(-1, self.c["vocab"]),
                               y.reshape(-1))


def tokens(c, step):
    n = BATCH * (c["context"] + 1)
    t = ((hashed(n, 7000 + step) + 0.5) * c["vocab"]).astype(np.int64)
    t = torch.tensor(t).reshape(BATCH, c["context"] + 1)
    return t[:, :-1], t[:, 1:]


def train(m, c):
    """{parameter: (norm, product)} of the first step, [(loss, norm)]"""
    decay = [p for p in m.params.values() if p.dim() > 1]
    others = [p for p in m.params.values() if p.dim() < 2]
    opt = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1},
         {"params": others, "weight_decay": 0.0}],
        lr=2e-3, betas=(0.9, 0.95), eps=1e-8)
    grads, steps = {}, []
    for step in range(STEPS):
        # five batches in turn, so that something is learnt
        x, y = tokens(c, step % 5)
        opt.zero_grad()
        loss = m.loss(x, y)
        loss.backward()
        if step == 0:
            for name, p in m.params.items():
                g = p.grad.reshape(-1).double().numpy()
                grads[name] = np.linalg.norm(g), g @ hashed(g.size, 99)
        norm = math.sqrt(sum((p.grad.double() ** 2).sum().item()
                             for p in m.params.values()))
        clip = min(1.0, 1.0 / norm)
        for p in m.params.values():
            p.grad.mul_(clip)
        opt.step()
        steps.append((loss.item(), norm))
    return grads, np.array(steps)


def print_variant(name, c):
    print("variant", name)
    for key, value in c.items():
        print(f"set model.{key}={value}")
    grads, steps = train(Model(c, torch.float64), c)
    grads_off, steps_off = dict.fromkeys(grads, 0.0), np.zeros_like(steps)
    for run in RUNS:
        grads32, steps32 = train(Model(c, torch.float32, moved=run > 0), c)
        for n, (norm, dot) in grads.items():
            # a product is small by cancelling: measure it by the norm
            grads_off[n] = max([grads_off[n]] +
                               [abs(a - b) / norm for a, b in
                                zip(grads32[n], (norm, dot))])
        steps_off = np.maximum(steps_off, abs(steps32 / steps - 1))
    for n, (norm, dot) in grads.items():
        print(f"grad {n} {norm:.9e} {dot:.9e} {grads_off[n]:.1e}")
    for (loss, norm), off in zip(steps, np.maximum.accumulate(steps_off)):
        print(f"step {loss:.9e} {norm:.9e} {off[0]:.1e} {off[1]:.1e}")
    print("end")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    print("# made by model.py with PyTorch", torch.__version__)
    print("batch", BATCH)
    for name, change in VARIANTS.items():
        print_variant(name, {**BASE, **change})
    return 0


if __name__ == "__main__":
    sys.exit(main())
