#!/usr/bin/env python3
"""torch_twin.py - a training run of gtrain, computed by PyTorch

usage: torch_twin.py DIR [--fp64 | --low] [--threads N] [--seed N]
                     [--json FILE]

DIR is written by bench/start: settings, initial weights, windows of tokens.
Prints "step N loss L norm G lr R" for every step, "val N L" for every
validation, and finally the time.  The mathematics is implemented independently,
from the papers and PyTorch's own optimisers, for every setting of [model],
[optim] and [schedule] except dropout; only the names of settings and parameters
are gtrain's.

--seed draws other weights and windows with PyTorch's generator, as nanoGPT
does; then only the settings are the same.  --fp64 computes in float64.  --low
computes in the 16 bits of train.precision: weights, activations and their
gradients, but not the master weights, their gradients, the moments and the
loss.
"""
import argparse
import fnmatch
import configparser
import json
import math
import os
import sys
import time

START = time.perf_counter()

import numpy as np                  # noqa: E402  its import is part of the start
import torch                        # noqa: E402
import torch.nn.functional as F     # noqa: E402
from safetensors.torch import load_file     # noqa: E402


class Settings:
    def __init__(self, folder):
        self.ini = configparser.ConfigParser(
            inline_comment_prefixes=(";",), interpolation=None)
        self.ini.read(os.path.join(folder, "config.ini"))

    def __call__(self, key):
        section, name = key.split(".", 1)
        value = self.ini[section][name]
        if value in ("yes", "no"):
            return value == "yes"
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                pass
        if value.endswith("%"):
            return float(value[:-1]) / 100
        return value

    def span(self, key, steps, tokens_per_step):
        """A length in steps: 715, "375M tokens" or "1%"."""
        text = str(self.ini[key.split(".")[0]][key.split(".")[1]])
        if text.endswith("%"):
            return round(float(text[:-1]) / 100 * steps)
        if text.endswith("tokens"):
            number = text[:-6].strip()
            unit = {"k": 1e3, "M": 1e6, "B": 1e9}.get(number[-1])
            n = float(number[:-1]) * unit if unit else float(number)
            return int(n / tokens_per_step)
        return int(float(text))


# ---- the model ----------------------------------------------------------

class Model:
    def __init__(self, c, params, low=None):
        self.masters, self.low = params, low
        self.p = params
        self.heads = c("model.heads")
        self.kv = c("model.kv_heads") or self.heads
        self.layers = c("model.layers")
        self.vocab = c("model.vocab")
        self.layernorm = c("model.norm") == "layernorm"
        self.eps = c("model.norm_eps")
        self.mlp_kind = c("model.mlp")
        self.rope = c("model.position") == "rope"
        self.theta = c("model.rope_theta")
        self.qk_norm = c("model.qk_norm")
        self.head_dim = c("model.head_dim")
        self.cap, self.window = c("model.softcap"), c("model.window")
        self.pattern = c("model.window_pattern")
        self.tables = None
        self.ignore = c("data.ignore")

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"],
                        self.p.get(name + ".bias"))

    def norm(self, x, name):
        w = self.p[name + ".weight"]
        if self.layernorm:
            return F.layer_norm(x, x.shape[-1:], w, self.p.get(name + ".bias"),
                                self.eps)
        return F.rms_norm(x, x.shape[-1:], w, self.eps)

    def turn(self, x):
        """Rotate halves, paired as transformers does for Llama."""
        T, D = x.shape[-2:]
        if self.tables is None or self.tables[0].shape[0] != T:
            freq = self.theta ** (-torch.arange(0, D, 2).double() / D)
            angle = torch.arange(T).double()[:, None] * freq[None]
            self.tables = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        cos, sin = self.tables
        a, b = x[..., :D // 2], x[..., D // 2:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def mask(self, layer, T):
        """What a layer with a window attends to; None: all before it."""
        short = self.pattern[layer % len(self.pattern)] == "S"
        if not self.window or not short or layer + 1 == self.layers:
            return None
        back = torch.arange(T)[:, None] - torch.arange(T)
        return (back >= 0) & (back < self.window)

    def values(self, x, v, name, ids):
        gate = self.p.get(name + ".value_gate.weight")
        if gate is None:
            return v
        e = self.p[name + ".value_embed.weight"][ids].unflatten(2, (self.kv, -1))
        g = 2 * torch.sigmoid(F.linear(x[..., :gate.shape[1]], gate))
        return v + (g[..., None] * e).transpose(1, 2)

    def attention(self, x, layer, ids):
        B, T, C = x.shape
        name = f"h.{layer}.attn"
        D = self.head_dim or C // self.heads
        q, k, v = (t.view(B, T, -1, D).transpose(1, 2) for t in
                   self.linear(x, name + ".qkv").split(
                       [self.heads * D, self.kv * D, self.kv * D], -1))
        v = self.values(x, v, name, ids)
        if self.qk_norm:
            q = F.rms_norm(q, (D,), self.p[name + ".q_norm.weight"], self.eps)
            k = F.rms_norm(k, (D,), self.p[name + ".k_norm.weight"], self.eps)
        if self.rope:
            q, k = self.turn(q), self.turn(k)
        if self.kv != self.heads:
            k = k.repeat_interleave(self.heads // self.kv, 1)
            v = v.repeat_interleave(self.heads // self.kv, 1)
        mask = self.mask(layer, T)
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None)
        return self.linear(y.transpose(1, 2).reshape(B, T, -1), name + ".proj")

    def mlp(self, x, name):
        h = self.linear(x, name + ".fc")
        if self.mlp_kind in ("swiglu", "geglu"):
            gate, value = h.chunk(2, -1)
            act = F.silu if self.mlp_kind == "swiglu" else F.gelu
            h = act(gate) * value
        elif self.mlp_kind == "gelu":
            h = F.gelu(h)
        elif self.mlp_kind == "gelu_tanh":
            h = F.gelu(h, approximate="tanh")
        else:
            h = F.relu(h)
            h = h * h if self.mlp_kind == "relu2" else h
        return self.linear(h, name + ".proj")

    def loss(self, x, y, reduction="mean"):
        if self.low:
            self.p = {k: p.to(self.low) for k, p in self.masters.items()}
        p = self.p
        h = F.embedding(x, p["wte.weight"])
        if "wpe.weight" in p:
            h = h + p["wpe.weight"][:x.shape[1]]
        if "ln_e.weight" in p:
            h = self.norm(h, "ln_e")
        embed = h
        for i in range(self.layers):
            if "h.0.mix.residual" in p:
                h = p[f"h.{i}.mix.residual"] * h + p[f"h.{i}.mix.embed"] * embed
            h = h + self.attention(self.norm(h, f"h.{i}.ln_1"), i, x)
            h = h + self.mlp(self.norm(h, f"h.{i}.ln_2"), f"h.{i}.mlp")
        if "ln_f.weight" in p:
            h = self.norm(h, "ln_f")
        head = p.get("lm_head.weight", p["wte.weight"])
        logits = F.linear(h, head[:self.vocab])
        if self.low:
            logits = logits.float()
        if self.cap:
            logits = self.cap * torch.tanh(logits / self.cap)
        return F.cross_entropy(logits.reshape(-1, self.vocab), y.reshape(-1),
                               reduction=reduction, ignore_index=self.ignore)

    def count(self, y):
        return int((y != self.ignore).sum())


def draw_again(c, params):
    """Initial weights as nanoGPT draws them."""
    std = c("model.init_std")
    deep = std / math.sqrt(2 * c("model.layers")) \
        if c("model.init_residual") else std
    for name, p in params.items():
        if p.dim() == 2:
            torch.nn.init.normal_(p, std=deep if name.endswith(
                "proj.weight") else std)


# ---- the learning rate --------------------------------------------------

class Schedule:
    def __init__(self, c, steps, tokens_per_step):
        self.kind = c("schedule.kind")
        self.peak, self.low = c("optim.lr"), c("schedule.min_lr")
        self.start = c("schedule.warmup_lr")
        self.steps = steps
        self.warmup = c.span("schedule.warmup", steps, tokens_per_step)
        self.fall = min(c.span("schedule.decay", steps, tokens_per_step),
                        steps - self.warmup)
        self.shape = c("schedule.decay_shape")
        self.power = c("schedule.power")
        at = c.ini["schedule"]["at"]
        self.at = [float(x.strip().rstrip("%")) /
                   (100 if "%" in x else 1) for x in at.split(",")]
        self.factor = c("schedule.factor")
        self.cycle = c("schedule.cycle") or max(
            1, (steps - self.warmup) // 4)
        self.growth = c("schedule.cycle_growth")
        self.cycles = c("schedule.cycles")
        if self.cycles:
            self.cycle = (steps - self.warmup) / self.cycles
        self.timescale = c("schedule.timescale") or self.warmup or 10000
        self.warmup_shape = c("schedule.warmup_shape")

    def rate(self, step):
        peak, low = self.peak, self.low
        if step < self.warmup:
            x = (step + 1) / self.warmup
            x = {"linear": lambda: x,
                 "cosine": lambda: 0.5 * (1 - math.cos(math.pi * x)),
                 "sqrt": lambda: 1 - math.sqrt(1 - x)}[self.warmup_shape]()
            return self.start + (peak - self.start) * x
        if self.kind == "constant":
            return max(low, peak)
        if self.kind == "invsqrt":
            return max(low, peak * math.sqrt(
                self.timescale / (step - self.warmup + self.timescale)))
        if self.kind == "step":
            drops = sum(step >= x * self.steps for x in self.at)
            return max(low, peak * self.factor ** drops)
        if step >= self.steps and self.kind != "cosine":
            return low
        rest = self.steps - self.warmup
        r = min(1, (step - self.warmup) / rest) if rest else 1
        if self.kind == "cosine":
            periods = self.cycles or 0.5
            x = 0.5 * (1 + math.cos(2 * math.pi * periods * r))
        elif self.kind == "linear":
            x = 1 - r
        elif self.kind == "polynomial":
            x = (1 - r) ** self.power
        elif self.kind == "restarts":
            at, length = step - self.warmup, self.cycle
            while at >= length:
                at -= length
                length *= self.growth
            x = 0.5 * (1 + math.cos(math.pi * at / length))
        elif self.kind == "wsd":
            d = (step - (self.steps - self.fall)) / max(self.fall, 1)
            x = 1 if d < 0 else {
                "linear": lambda: 1 - d,
                "cosine": lambda: 0.5 * (1 + math.cos(math.pi * d)),
                "sqrt": lambda: 1 - math.sqrt(d)}[self.shape]()
        return low + (peak - low) * x


# ---- optimisers ---------------------------------------------------------

class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, groups, lr, betas):
        super().__init__(groups, dict(lr=lr, betas=betas, weight_decay=0))

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = (b1 * m + (1 - b1) * p.grad).sign()
                p.mul_(1 - g["lr"] * g["weight_decay"])
                p.sub_(g["lr"] * update)
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


# the factor on the norm, and the coefficients of each round
ORTHOGONAL = {
    "original": (1, [(3.4445, -4.7750, 2.0315)] * 5),
    "polar": (1.02, [
        (8.156554524902461, -22.48329292557795, 15.878769915207462),
        (4.042929935166739, -2.808917465908714, 0.5000178451051316),
        (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
        (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
        (2.3465413258596377, -1.7097828382687081, 0.42323551169305323)]),
}


class Muon(torch.optim.Optimizer):
    """Jordan 2024, in the type of the weights; torch.optim.Muon rounds its
    iterations to bfloat16.  rows: None, or a decay rate and an epsilon."""

    def __init__(self, groups, lr, momentum, nesterov, weight_decay,
                 adjust_lr_fn, coefficients="original", cautious=False,
                 rows=None):
        super().__init__(groups, dict(lr=lr, momentum=momentum,
                                      nesterov=nesterov,
                                      weight_decay=weight_decay))
        self.original = adjust_lr_fn == "original"
        self.margin, self.rounds = ORTHOGONAL[coefficients]
        self.cautious, self.rows = cautious, rows

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.mul_(g["momentum"]).add_(p.grad)
                u = p.grad + g["momentum"] * m if g["nesterov"] else m
                x = u / (self.margin * u.norm() + 1e-7)
                wide = x.shape[0] <= x.shape[1]
                x = x if wide else x.T
                for first, second, third in self.rounds:
                    a = x @ x.T
                    x = first * x + (second * a + third * a @ a) @ x
                x = x if wide else x.T
                if self.rows:
                    b2, eps = self.rows
                    v = self.state[p].setdefault("v", torch.zeros_like(p[:, :1]))
                    v.mul_(b2).add_((x * x).mean(1, keepdim=True), alpha=1 - b2)
                    y = x / (v.sqrt() + eps)
                    x = y * (x.norm() / y.norm())
                scale = math.sqrt(max(1, p.shape[0] / p.shape[1])) \
                    if self.original else 0.2 * math.sqrt(max(p.shape))
                keep = torch.full_like(p, 1 - g["lr"] * g["weight_decay"])
                if self.cautious:
                    keep[p * x < 0] = 1
                p.mul_(keep)
                p.sub_(g["lr"] * scale * x)


class Projections:
    """Gives each projection to Muon by itself: a parameter holds q, k and v, or
    gate and up, one above the other."""

    def __init__(self, muon, stacks, factor, **how):
        self.stacks = [(p, p.detach().split(rows)) for p, rows in stacks]
        parts = [part for _, parts in self.stacks for part in parts]
        self.muon = muon([dict(params=parts, factor=factor)], **how)
        self.param_groups = self.muon.param_groups

    def step(self):
        for p, parts in self.stacks:
            grads = p.grad.split([part.shape[0] for part in parts])
            for part, grad in zip(parts, grads):
                part.grad = grad
        self.muon.step()

    def zero_grad(self, set_to_none):
        for p, _ in self.stacks:
            p.grad = None


def projections(c, key, p):
    """The rows of the projections in a parameter."""
    if key.endswith("attn.qkv.weight"):
        kv = c("model.kv_heads") or c("model.heads")
        q = p.shape[1]
        k = q // c("model.heads") * kv
        return [q, k, k]
    if key.endswith("mlp.fc.weight") and c("model.mlp") in ("swiglu", "geglu"):
        return [p.shape[0] // 2] * 2
    return [p.shape[0]]


def rates(c, key, kind, usual, beta, decay):
    """The peak rate, first beta and decay of a parameter, by optim.group.N."""
    lr = usual
    for i in range(1, 7):
        pattern, *values = c("optim.group.%d" % i).replace(",", " ").split() \
            or [None]
        if pattern is None or kind != pattern and \
                not fnmatch.fnmatchcase(key, pattern):
            continue
        for name, value in (v.split("=") for v in values):
            if name == "beta1":
                beta = float(value)
            elif name == "decay":
                decay = float(value)
            elif value.endswith("x"):
                lr = usual * float(value[:-1])
            else:
                lr = float(value)
    return lr, beta, decay


def optimisers(c, params, fused, muon):
    """The optimisers of the settings; fused if PyTorch has them, and muon."""
    name, peak = c("optim.name"), c("optim.lr")
    betas = c("optim.beta1"), c("optim.beta2")
    groups, matrices = {}, {}
    for key, p in params.items():
        kind = "embed" if key in ("wte.weight", "wpe.weight") or \
            key.endswith("value_embed.weight") else "head" \
            if key == "lm_head.weight" else "vector" if p.dim() == 1 \
            else "matrix"
        by_muon = name == "muon" and kind == "matrix"
        how = rates(c, key, kind, c("optim.muon_lr") if by_muon else peak,
                    c("optim.momentum") if by_muon or name == "sgd"
                    else betas[0], c("optim.decay") if p.dim() > 1 else 0.0)
        if by_muon:
            matrices.setdefault(how, []).append((p, projections(c, key, p)))
        else:
            groups.setdefault(how, []).append(p)
    groups = [dict(params=ps, weight_decay=decay,
                   factor=lr / peak if peak else 0,
                   **(dict(momentum=beta) if name == "sgd" else
                      dict(betas=(beta, betas[1]))))
              for (lr, beta, decay), ps in groups.items()]
    if name == "sgd":
        return [torch.optim.SGD(groups, lr=1, momentum=c("optim.momentum"),
                                nesterov=c("optim.nesterov"))]
    if name == "lion":
        return [Lion(groups, 1, betas)]
    if name == "adam":
        return [torch.optim.Adam(groups, lr=1, betas=betas,
                                 eps=c("optim.eps"), fused=fused)]
    out = [torch.optim.AdamW(groups, lr=1, betas=betas, eps=c("optim.eps"),
                             fused=fused)]
    for (lr, beta, decay), stacks in matrices.items():
        out.append(Projections(
            muon, stacks, lr / peak if peak else 0,
            lr=1, weight_decay=decay, momentum=beta,
            nesterov=c("optim.nesterov"), adjust_lr_fn=c("optim.muon_scale"),
            coefficients=c("optim.muon_coefficients"),
            cautious=c("optim.cautious"),
            rows=(c("optim.beta2"), c("optim.eps"))
            if c("optim.muon_rows") else None))
    return out


# ---- training -----------------------------------------------------------

class Windows:
    """Rows of tokens from a file, or drawn as nanoGPT's get_batch does."""

    def __init__(self, path, T, generator):
        self.rows = torch.from_numpy(
            np.fromfile(path, np.int32).reshape(-1, T + 1).astype(np.int64))
        self.generator = generator
        self.text = None

    def get(self, first, n):
        rows = self.rows[first:first + n]
        if self.text is not None:
            at = torch.randint(len(self.text) - rows.shape[1] + 1, (n,),
                               generator=self.generator)
            rows = torch.stack([self.text[i:i + rows.shape[1]] for i in at])
        return rows[:, :-1].clone(), rows[:, 1:].clone()


def read_tokens(pattern):
    import glob
    parts = []
    for path in sorted(glob.glob(pattern)):
        head = np.fromfile(path, np.int32, 3)
        assert head[0] == 20240520, path + " is no llm.c file"
        parts.append(np.fromfile(path, np.uint16, offset=1024))
    return torch.from_numpy(np.concatenate(parts).astype(np.int64))


class Training:
    """One training: train() fills curve, (step, loss, norm, rate), and val.

    rounding, a pair (number, ulps), asks for one of several trainings that
    differ by rounding alone: the weights of folder are moved at random, by at
    most so many units in the last place of the type that computes, and Muon
    iterates in float32, as gtrain does.
    """

    def __init__(self, folder, fp64=False, seed=None, low=False,
                 rounding=None):
        self.c = c = Settings(folder)
        self.params = load_file(os.path.join(folder, "model.safetensors"))
        generator = None
        if seed is not None:
            torch.manual_seed(seed)
            generator = torch.Generator().manual_seed(seed)
            draw_again(c, self.params)
        if fp64:
            self.params = {k: p.double() for k, p in self.params.items()}
        for p in self.params.values():
            p.requires_grad_(True)
        self.low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(
            c("train.precision")) if low else None
        if rounding:
            self.move_weights(*rounding)
        self.scale = c("train.loss_scale") \
            if self.low == torch.float16 else 1.0
        self.model = Model(c, self.params, self.low)
        self.T, self.micro = c("model.context"), c("train.micro_batch")
        self.batch = c("train.batch") or \
            c("train.tokens_per_step") // self.T or self.micro
        self.train_rows = Windows(os.path.join(folder, "train.i32"), self.T,
                                  generator)
        self.val_rows = None
        if os.path.exists(os.path.join(folder, "val.i32")):
            self.val_rows = Windows(os.path.join(folder, "val.i32"), self.T,
                                    generator)
        if seed is not None:
            self.train_rows.text = read_tokens(c("data.train"))
            self.val_rows.text = read_tokens(c("data.val"))
        steps = c("schedule.steps")
        self.stop = c("train.stop_at") or steps
        self.ramp = c.span("train.ramp", steps, self.batch * self.T)
        self.stride = c("eval.stride")
        self.seen = 0
        self.schedule = Schedule(c, steps, self.batch * self.T)
        own_muon = fp64 or rounding
        self.movers = optimisers(c, self.params, not fp64,
                                 Muon if own_muon else torch.optim.Muon)
        self.curve, self.val, self.seconds = [], [], []

    @torch.no_grad()
    def move_weights(self, number, ulps):
        generator = torch.Generator().manual_seed(number)
        most = ulps * torch.finfo(self.low or torch.float32).eps
        for p in self.params.values():
            r = torch.rand(p.shape, generator=generator, dtype=torch.float64)
            p.mul_(1 + most * (2 * r - 1))

    def windows(self, step):
        """Sequences of a step: fewer on the ramp, in whole micro-batches."""
        if step >= self.ramp:
            return self.batch
        low = self.c("train.ramp_from") or self.micro
        n = low + (self.batch - low) * step / self.ramp
        return max(1, int(n // self.micro)) * self.micro

    @torch.no_grad()
    def validate(self):
        total, count, n = 0.0, 0, len(self.val_rows.rows)
        overlap = self.T - self.stride if self.stride \
            and not self.c("eval.random") else 0
        for i in range(0, n, self.micro):
            x, y = self.val_rows.get(i, min(self.micro, n - i))
            if overlap > 0:     # tokens that no earlier window has scored
                y[0 if i else 1:, :overlap] = self.c("data.ignore")
            total += self.model.loss(x, y, "sum").item()
            count += self.model.count(y)
        return total / count

    def validate_text(self):
        """All of data.val, window after window."""
        text, T = read_tokens(self.c("data.val")), self.T
        self.val_rows.text = None
        self.val_rows.rows = torch.stack(
            [text[i:i + T + 1] for i in range(0, len(text) - T, T)])
        return self.validate()

    @torch.no_grad()
    def clip(self):
        """In float64: clip_grad_norm_ sums millions of squares in float32, and
        is off by 1e-4 where the vocabulary is GPT-2's."""
        grads = [p.grad for p in self.params.values()]
        norm = math.sqrt(sum(g.double().square().sum().item() for g in grads))
        most = self.c("optim.clip")
        if most > 0 and norm > most:
            for g in grads:
                g.mul_(most / norm)
        return norm

    def decay_left(self, step):
        done = min(1, step / self.schedule.steps)
        return 1 + (self.c("optim.decay_end") - 1) * done

    def step(self, step):
        lr = self.schedule.rate(step)
        loss, parts = 0.0, [self.train_rows.get(self.seen + i, self.micro)
                            for i in range(0, self.windows(step), self.micro)]
        self.seen += self.windows(step)
        targets = sum(self.model.count(y) for _, y in parts)
        for x, y in parts:
            part = self.model.loss(x, y, "sum") / targets
            (part * self.scale).backward()
            loss += part.item()
        for p in self.params.values():
            p.grad.div_(self.scale)
        norm = self.clip()
        for mover in self.movers:
            for group in mover.param_groups:
                group["lr"] = lr * group["factor"]
                group.setdefault("decay", group["weight_decay"])
                group["weight_decay"] = group["decay"] * self.decay_left(step)
            mover.step()
            mover.zero_grad(set_to_none=True)
        self.curve.append((step + 1, loss, norm, lr))

    def train(self, say=False):
        every = self.c("eval.every")
        if self.val_rows and self.c("eval.at_start"):
            self.val.append((0, self.validate()))
        for step in range(self.stop):
            before = time.perf_counter()
            self.step(step)
            self.seconds.append(time.perf_counter() - before)
            if say:
                print("step %d loss %.9g norm %.9g lr %.9g" % self.curve[-1],
                      flush=True)
            done = step + 1
            if self.val_rows and every and (done % every == 0 or
                                            done == self.stop):
                self.val.append((done, self.validate()))
                if say:
                    print("val %d %.6f" % self.val[-1], flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("folder")
    ap.add_argument("--fp64", action="store_true")
    ap.add_argument("--low", action="store_true")
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--seed", type=int)
    ap.add_argument("--text", action="store_true",
                    help="also validate on all of data.val at the end")
    ap.add_argument("--json", help="write the curve to this file")
    a = ap.parse_args()

    torch.set_num_threads(a.threads)
    t = Training(a.folder, a.fp64, a.seed, a.low)
    t.train(say=True)
    out = dict(curve=t.curve, val=t.val, torch=torch.__version__,
               seconds=time.perf_counter() - START,
               step_ms=1e3 * float(np.median(t.seconds)))
    if a.text:
        out["text"] = t.validate_text()
        print("text %.6f" % out["text"])
    print(f"{out['seconds']:.1f} s, {out['step_ms']:.2f} ms a step",
          file=sys.stderr)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(out, f)
    return 0


if __name__ == "__main__":
    sys.exit(main())
