#!/usr/bin/env python3
"""searches.py - compare what chooses the next cell of a sweep

usage: searches.py [--seeds N] [--most N] [--gtrain PROGRAM] [--only TEXT] ASK

Each method chooses values for three known functions and for the learning rate
of a tiny model that gtrain trains, with N seeds (default 20).  Prints how many
cells each needs to come within 1% of the optimum: the median over the seeds,
and how many seeds came there in --most cells (default 200).  ASK is bench/ask.
The methods of others are those of the packages optuna and sweeps, if they are
installed.  The best learning rate is that of a grid of 100, to which all
choices are rounded, so that each is trained once.  With --only, methods whose
names have this text are compared.
"""
import argparse
import glob
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")


def branin(x, y):
    return ((y - 5.1 / (4 * math.pi ** 2) * x * x + 5 / math.pi * x - 6) ** 2
            + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def camel(x, y):
    return ((4 - 2.1 * x * x + x ** 4 / 3) * x * x + x * y
            + (4 * y * y - 4) * y * y)


def hartmann(*x):
    a = ((3, 10, 30), (0.1, 10, 35), (3, 10, 30), (0.1, 10, 35))
    p = ((3689, 1170, 2673), (4699, 4387, 7470), (1091, 8732, 5547),
         (381, 5743, 8828))
    return -sum(c * math.exp(-sum(w * (v - q / 1e4) ** 2
                                  for w, v, q in zip(row, x, at)))
                for c, row, at in zip((1, 1.2, 3, 3.2), a, p))


class Rates:
    """The loss of a tiny model by its learning rate, each trained once."""

    LOW, HIGH, STEPS = 1e-4, 1.0, 100
    SETTINGS = """
[model]
layers = 1
heads = 2
width = 16
context = 16
vocab = 32
[data]
train = train.bin
val = train.bin
[train]
device = cpu
threads = 1
micro_batch = 4
batch = 4
[schedule]
steps = 200
[eval]
every = 200
sequences = 64
[checkpoint]
last = no
keep_best = no
[run]
root = runs
system_every = 0s
"""

    def __init__(self, gtrain, folder):
        self.gtrain, self.folder, self.loss = gtrain, folder, {}
        choice = random.Random(1)
        ids, id_ = bytearray(), 0
        for i in range(20000):
            ids += id_.to_bytes(2, "little")
            id_ = choice.randrange(32) if i % 5 == 0 else (id_ * 7 + 3) % 32
        with open(os.path.join(folder, "train.bin"), "wb") as f:
            f.write(ids)
        with open(os.path.join(folder, "c.ini"), "w") as f:
            f.write(self.SETTINGS)

    def train(self, lr):
        subprocess.run(
            [self.gtrain, "-q", "--config", "c.ini", "--set",
             f"optim.lr={lr:.6g}"], cwd=self.folder, check=True)
        metric, = glob.glob(os.path.join(self.folder,
                                         "runs/*/*/metrics/val/loss"))
        with open(metric) as f:
            loss = float(f.read().split()[1])
        shutil.rmtree(os.path.join(self.folder, "runs"))
        return loss

    def __call__(self, lr):
        place = math.log(lr / self.LOW) / math.log(self.HIGH / self.LOW)
        i = min(self.STEPS - 1, int(place * self.STEPS))
        if i not in self.loss:
            ratio = (self.HIGH / self.LOW) ** ((i + 0.5) / self.STEPS)
            self.loss[i] = self.train(self.LOW * ratio)
        return self.loss[i]

    def least(self):
        for i in range(self.STEPS):
            self(self.LOW * (self.HIGH / self.LOW) ** (
                (i + 0.5) / self.STEPS))
        return min(self.loss.values())


def ours(sampler):
    def search(f, ranges, logs, seed, most):
        name = "loguniform" if logs else "uniform"
        with subprocess.Popen(
                [ASK, sampler, str(seed), str(most)]
                + [f"x{i}={name}({a}, {b})"
                   for i, (a, b) in enumerate(ranges)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True) as ask:
            for line in ask.stdout:
                y = f(*map(float, line.split()))
                yield y
                ask.stdin.write(f"{y!r}\n")
                ask.stdin.flush()
    return search


def with_optuna(f, ranges, logs, seed, most):
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(most):
        trial = study.ask()
        y = f(*(trial.suggest_float(f"x{i}", a, b, log=logs)
                for i, (a, b) in enumerate(ranges)))
        yield y
        study.tell(trial, y)


def with_wandb(method):
    def search(f, ranges, logs, seed, most):
        numpy.random.seed(seed)
        random.seed(seed)
        config = {"method": method,
                  "metric": {"name": "y", "goal": "minimize"},
                  "parameters": {
                      f"x{i}": {"min": float(a), "max": float(b),
                                "distribution": "log_uniform_values"
                                if logs else "uniform"}
                      for i, (a, b) in enumerate(ranges)}}
        runs = []
        for _ in range(most):
            run = sweeps.next_run(config, runs)
            y = f(*(run.config[f"x{i}"]["value"]
                    for i in range(len(ranges))))
            yield y
            run.state = sweeps.RunState.finished
            run.summary_metrics = {"y": y}
            run.history = [{"y": y}]
            runs.append(run)
    return search


def cells_until(search, case, seed, most):
    """How many cells it takes to reach the goal, or None."""
    f, ranges, logs, goal = case
    values = search(f, ranges, logs, seed, most)
    for n, y in enumerate(values, 1):
        if y <= goal:
            values.close()
            return n
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--gtrain", default="gtrain")
    parser.add_argument("--only", default="")
    parser.add_argument("ask")
    args = parser.parse_args()
    global ASK
    ASK = args.ask
    methods = {"random": ours("random"), "tpe": ours("tpe")}
    if optuna:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        methods[f"Optuna {optuna.__version__}, TPE"] = with_optuna
    if sweeps:
        methods[f"W&B sweeps {sweeps.__version__}, random"] = \
            with_wandb("random")
        methods[f"W&B sweeps {sweeps.__version__}, bayes"] = \
            with_wandb("bayes")
    with tempfile.TemporaryDirectory() as folder:
        rates = Rates(os.path.abspath(args.gtrain), folder)
        least = rates.least()
        cases = {
            "Branin": (branin, ((-5, 10), (0, 15)), False, 0.397887 * 1.01),
            "six-hump camel": (camel, ((-3, 3), (-2, 2)), False,
                               -1.031628 * 0.99),
            "Hartmann 3": (hartmann, ((0, 1),) * 3, False, -3.862782 * 0.99),
            "learning rate": (rates, ((Rates.LOW, Rates.HIGH),), True,
                              least * 1.01),
        }
        print("| method | " + " | ".join(cases) + " |")
        print("|---|" + "--:|" * len(cases))
        for name, search in methods.items():
            if args.only not in name:
                continue
            row = []
            for case in cases.values():
                n = [cells_until(search, case, seed, args.most)
                     for seed in range(1, args.seeds + 1)]
                median = statistics.median(
                    args.most + 1 if x is None else x for x in n)
                there = sum(x is not None for x in n)
                row.append((f"{median:g}" if median <= args.most
                            else f"> {args.most}")
                           + ("" if there == len(n)
                              else f" ({there} of {len(n)})"))
            print(f"| {name} | " + " | ".join(row) + " |", flush=True)


try:
    import optuna
except ImportError:
    optuna = None
try:
    import numpy
    import sweeps
except ImportError:
    sweeps = None
if __name__ == "__main__":
    sys.exit(main())
