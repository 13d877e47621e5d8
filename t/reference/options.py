#!/usr/bin/env python3
"""options.py - options of gtrain against PyTorch, in combinations

usage: options.py [-n COUNT] [--seed N] [CASE]...

Run where gtrain and bench/start are.  A CASE is settings with spaces between
them; without one there are those below, each optimiser and schedule, and COUNT
drawn at random.  gtrain trains each for some steps, and so does
bench/torch_twin.py in float64, from the same weights.  Prints a TAP line for
each.

How far a loss or a norm may be from float64 depends on the training, not on the
machine: a ReLU near zero or Lion's signs can amplify the last bit ten thousand
times.  So PyTorch also trains the case in our type, from the same weights and
from weights that differ by up to one unit in the last place.  Our value may be
FACTOR times as far from float64 as the furthest of these trainings in the same
metric up to the same step, plus FLOOR.  If it is further off, more trainings
are drawn, up to MOST_RUNS, from weights that differ by up to FACTOR units: our
rounding may be that much larger, and few trainings meet the same zero.  A
defect still fails, because rounding alone does not take PyTorch that far.
"""
import argparse
import glob
import importlib.util
import os
import random
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.environ.get("top_srcdir", ".."))
spec = importlib.util.spec_from_file_location(
    "twin", os.path.join(TOP, "bench", "torch_twin.py"))
twin = importlib.util.module_from_spec(spec)
spec.loader.exec_module(twin)

RUNS, MOST_RUNS = 5, 50
FACTOR = 4
FLOOR = 2.0 ** -23      # the last bit of a float32

BASE = dict(
    model_layers=2, model_heads=4, model_width=32, model_context=12,
    model_vocab=53, model_vocab_multiple=16, data_train="tokens.bin",
    data_val="tokens.bin", train_micro_batch=2, train_batch=4,
    train_device="cpu", train_threads=1, schedule_steps=12,
    schedule_warmup=3, optim_lr="3e-3", eval_every=5, eval_sequences=7,
    sample_every=0, run_system_every="0s", checkpoint_last="no",
    checkpoint_keep_best="no", plan_peak_tflops=1)

CHOICES = {
    "model.norm": ["layernorm", "rmsnorm"],
    "model.norm_bias": ["yes", "no"],
    "model.norm_eps": ["1e-5", "1e-6", "1e-3"],
    "model.linear_bias": ["yes", "no"],
    "model.qkv_bias": ["auto", "yes", "no"],
    "model.output_bias": ["auto", "yes", "no"],
    "model.mlp_bias": ["auto", "yes", "no"],
    "model.final_norm": ["yes", "no"],
    "model.mlp": ["gelu", "gelu_tanh", "relu", "relu2", "swiglu", "geglu"],
    "model.d_ff": ["0", "40", "7"],
    "model.position": ["learned", "rope", "none"],
    "model.rope_theta": ["10000", "500000"],
    "model.tied": ["yes", "no"],
    "model.qk_norm": ["no", "yes"],
    "model.kv_heads": ["0", "1", "2"],
    "model.heads": ["4", "2", "8"],
    "model.init_residual": ["yes", "no"],
    "model.vocab_multiple": ["1", "16"],
    "model.layers": ["1", "3"],
    "data.ignore": ["-1", "5"],
    "data.order": ["sequential", "random", "epoch"],
    "train.micro_batch": ["1", "2", "4"],
    "train.recompute": ["none", "pointwise", "layer"],
    "optim.name": ["adamw", "adam", "sgd", "lion", "muon"],
    "optim.decay": ["0.1", "0", "0.3"],
    "optim.clip": ["1", "0", "0.1"],
    "optim.beta1": ["0.9", "0.8"],
    "optim.beta2": ["0.95", "0.999"],
    "optim.nesterov": ["yes", "no"],
    "optim.group.1": ["", "embed,lr=0.3x", "*.mlp.*,lr=1e-3,beta1=0.8"],
    "optim.group.2": ["", "head,lr=3x", "matrix,decay=0.3"],
    "optim.group.3": ["", "vector,lr=2x,decay=0.1"],
    "schedule.kind": ["cosine", "linear", "constant", "wsd", "invsqrt",
                      "polynomial", "step", "restarts"],
    "schedule.warmup": ["3", "0", "25%", "12", "96 tokens"],
    "schedule.min_lr": ["0", "3e-4"],
    "schedule.warmup_lr": ["0", "1e-4"],
    "schedule.warmup_shape": ["linear", "cosine", "sqrt"],
    "schedule.cycles": ["0", "1", "1.5"],
    "schedule.timescale": ["0", "7"],
    "schedule.decay": ["20%", "50%", "100%"],
    "schedule.decay_shape": ["linear", "cosine", "sqrt"],
    "schedule.power": ["1", "2.5"],
    "schedule.cycle": ["0", "3"],
    "schedule.cycle_growth": ["1", "2"],
    "train.stop_at": ["0", "7", "15"],
    "model.head_dim": ["0", "12"],
    "model.width": ["32", "64"],
    "model.init_std": ["0.02", "0.1"],
    "model.context": ["12", "17"],
    "data.stride": ["0", "5"],
    "train.ramp": ["0", "6", "50%"],
    "train.ramp_from": ["0", "2"],
    "train.batch": ["4", "8"],
    "train.threads": ["1", "2"],
    "train.deterministic": ["no", "yes"],
    "train.seed": ["1337", "7"],
    "optim.eps": ["1e-8", "1e-4"],
    "optim.momentum": ["0.95", "0.5"],
    "optim.muon_lr": ["0.02", "0.1"],
    "optim.muon_scale": ["original", "match_rms_adamw"],
    "optim.muon_coefficients": ["original", "polar"],
    "optim.cautious": ["no", "yes"],
    "optim.muon_rows": ["no", "yes"],
    "optim.decay_end": ["1", "0"],
    "model.softcap": ["0", "2"],
    "model.window": ["0", "5"],
    "model.window_pattern": ["SSSL", "SL", "S"],
    "model.embed_norm": ["no", "yes"],
    "model.residual_scale": ["no", "yes"],
    "model.value_embed": ["no", "yes"],
    "model.init_projection": ["normal", "zero"],
    "schedule.at": ["0.3,0.6,0.9", "25%,50%"],
    "schedule.factor": ["0.1", "0.5"],
    "eval.at_start": ["no", "yes"],
    "eval.stride": ["0", "5"],
    "eval.random": ["no", "yes"],
    "eval.sequences": ["7", "1"],
    "eval.every": ["5", "1", "0"],
}

CASES = [
    "model.norm=rmsnorm model.mlp=swiglu model.position=rope "
    "model.linear_bias=no model.tied=no model.kv_heads=2 model.qk_norm=yes",
    "model.linear_bias=no model.final_norm=no model.mlp=swiglu model.tied=no "
    "model.vocab_multiple=1",
    "model.norm_bias=no model.linear_bias=no model.mlp=gelu",
    "model.position=none model.qk_norm=yes model.kv_heads=1",
    "optim.group.1=embed,lr=0.3x optim.group.2=*.mlp.*,lr=1e-3,beta1=0.8,"
    "decay=0.3",
    "optim.name=muon optim.group.1=*.attn.*,lr=0.5x,beta1=0.8 "
    "optim.group.3=vector,lr=2x,decay=0.1",
    "schedule.steps=1 schedule.warmup=0",
    "schedule.steps=1 schedule.warmup=1",
    "schedule.warmup=0 optim.clip=0",
    "train.stop_at=20",
    "data.ignore=5 train.micro_batch=1",
    "model.preset=gpt2",
    "model.preset=gpt3-125M",
    "model.preset=llama-30M",
] + ["optim.name=" + x for x in CHOICES["optim.name"]] + \
    ["schedule.kind=%s schedule.warmup=2" % x
     for x in CHOICES["schedule.kind"]] + [
    "train.precision=bf16",
    "train.precision=fp16",
    "train.precision=bf16 optim.name=sgd optim.lr=0.1",
    "train.precision=bf16 model.norm=rmsnorm model.mlp=swiglu "
    "model.position=rope model.linear_bias=no model.tied=no "
    "model.kv_heads=2 model.qk_norm=yes",
    "train.precision=fp16 model.mlp=geglu model.final_norm=no",
]

# whose weights are compared, too
MUON = [
    "optim.name=muon schedule.steps=50 model.norm=rmsnorm model.mlp=swiglu "
    "model.position=rope model.linear_bias=no model.kv_heads=2",
    "optim.name=muon optim.muon_scale=match_rms_adamw optim.muon_lr=3e-3 "
    "schedule.steps=50",
    "optim.name=muon optim.muon_rows=yes optim.muon_coefficients=polar "
    "schedule.steps=50 model.mlp=swiglu",
    "optim.name=muon optim.decay_end=0 "
    "optim.cautious=yes optim.decay=0.1 schedule.steps=50",
]
MUON_BOUND = 1e-5


def draw(rng):
    case = [(k, rng.choice(v)) for k, v in CHOICES.items()
            if rng.random() < 0.5]
    sets = dict(case)
    # what gtrain refuses: heads that do not divide
    if int(sets.get("model.heads", 4)) % \
            (int(sets.get("model.kv_heads", 0)) or 1):
        sets.pop("model.kv_heads")
    # ... and a ramp that begins within a micro-batch
    if int(sets.get("train.micro_batch", 2)) > 2:
        sets.pop("train.ramp_from", None)
    return " ".join("%s=%s" % (k, v.replace(" ", "_"))
                    for k, v in sets.items())


def read_metric(root, name):
    out = {}
    for path in glob.glob(os.path.join(root, "*", "*", "metrics", name)):
        with open(path) as f:
            out.update((int(s), float(v)) for _, v, s in map(str.split, f))
    return out


class Refused(Exception):
    """Settings that do not go together."""


def train(case, folder):
    """gtrain's run of it: where the twin may start, and the store."""
    sets = ["%s=%s" % (k.replace("_", ".", 1), v) for k, v in BASE.items()]
    sets += [s.replace("_tokens", " tokens") for s in case.split()]
    start, root = os.path.join(folder, "start"), os.path.join(folder, "runs")
    for d in (start, root):
        subprocess.run(["rm", "-rf", d], check=True)
    p = subprocess.run(["bench/start", start, "empty.ini", *sets],
                       stderr=subprocess.PIPE, text=True)
    if p.stderr.startswith("start: --set: "):
        raise Refused(p.stderr.strip())
    if p.returncode:
        sys.exit("bench/start ends with %d: %s" % (p.returncode, p.stderr))
    args = ["gtrain", "train", "-q", "--config", "empty.ini", "--root", root]
    for s in sets:
        args += ["--set", s]
    subprocess.run(args, check=True)
    return start, root


def numbers(start, **how):
    """{(metric, step): value} of PyTorch's training."""
    t = twin.Training(start, **how)
    t.train()
    out = {("val/loss", step): loss for step, loss in t.val}
    for step, loss, norm, rate in t.curve:
        out["train/loss", step] = loss
        out["train/grad_norm", step] = norm
        out["train/lr", step] = rate
    return out


class Judge:
    """The training in float64, and how far rounding takes others from it."""

    def __init__(self, start):
        self.start, self.runs = start, 0
        self.exact = numbers(start, fp64=True)
        self.far = dict.fromkeys(self.exact, 0.0)

    def off(self, key, value):
        """Relative, as long as the value is not 0."""
        return abs(value - self.exact[key]) / max(abs(self.exact[key]), 1e-12)

    def draw(self):
        """Let PyTorch train it once more in the type of the case."""
        ulps = 0 if self.runs == 0 else 1 if self.runs < RUNS else FACTOR
        run = numbers(self.start, low=True, rounding=(self.runs, ulps))
        worst = {}
        for key in sorted(run):
            name = key[0]
            worst[name] = max(worst.get(name, 0.0), self.off(key, run[key]))
            self.far[key] = max(self.far[key], worst[name])
        self.runs += 1

    def bound(self, key):
        return FLOOR + FACTOR * self.far[key]

    def closest(self, values):
        """The value that is closest to its bound: (ratio, metric and step)."""
        return max((self.off(key, x) / self.bound(key), key)
                   for key, x in values.items())


def compare(start, root):
    """What is closest to its bound: how much of it, and in words."""
    judge = Judge(start)
    ours = {(name, step): value
            for name in {name for name, _ in judge.exact}
            for step, value in read_metric(root, name).items()}
    if ours.keys() != judge.exact.keys():
        return float("inf"), "other steps have values"
    for _ in range(RUNS):
        judge.draw()
    ratio, key = judge.closest(ours)
    while not ratio <= 1 and judge.runs < MOST_RUNS:
        judge.draw()
        ratio, key = judge.closest(ours)
    return ratio, "%s of step %d is off by %.1e, PyTorch by %.1e in %d runs" \
        % (*key, judge.off(key, ours[key]), judge.far[key], judge.runs)


def far_matrices(start, root):
    """The largest relative difference, of all matrices that Muon moves, of the
    change from the first to the last step: gtrain's from PyTorch's in float64.
    """
    t = twin.Training(start, fp64=True)
    t.train()
    first = twin.load_file(os.path.join(start, "model.safetensors"))
    last = twin.load_file(max(glob.glob(os.path.join(
        root, "*", "*", "artifacts", "checkpoints", "step-*",
        "model.safetensors"))))
    return max(float((last[k] - p).norm() / (p - first[k]).norm())
               for k, p in ((k, p.detach()) for k, p in t.params.items())
               if k.startswith("h.") and p.dim() == 2)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("-n", type=int, default=30)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("case", nargs="*")
    a = ap.parse_args()

    rng = random.Random(a.seed)
    cases = a.case or CASES + MUON + [draw(rng) for _ in range(a.n)]
    twin.torch.set_num_threads(1)
    bad, largest = 0, 0.0
    tools = os.getcwd()
    os.environ["PATH"] = tools + ":" + os.environ["PATH"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(os.path.join(tools, "bench"), "bench")
        open("empty.ini", "w").close()
        with open("tokens.bin", "wb") as f:
            for i in range(3000):
                f.write(((i * i + i // 7) % 53).to_bytes(2, "little"))
        for n, case in enumerate(cases, 1):
            try:
                ratio, what = compare(*train(case, folder))
            except Refused as why:
                if n <= len(cases) - a.n: # not drawn
                    raise
                print("ok %d # SKIP %s" % (n, why), flush=True)
                continue
            good = ratio <= 1
            print("%sok %d - %s" % ("" if good else "not ", n, case),
                  flush=True)
            if not good:
                print("# " + what)
                bad += 1
            else:
                largest = max(largest, ratio)
        for n, case in enumerate(MUON, len(cases) + 1):
            far = far_matrices(*train(case + " checkpoint.last=yes", folder))
            good = far <= MUON_BOUND
            print("%sok %d - Muon's matrices change as in float64: %s"
                  % ("" if good else "not ", n, case), flush=True)
            print("# furthest: %.1e" % far)
            bad += not good
        print("1..%d" % (len(cases) + len(MUON)))
        print("# closest to its bound: %.2f of it" % largest)
        os.chdir(tools)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
