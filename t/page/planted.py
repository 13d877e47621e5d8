# planted.py - a sweep of 200 runs whose answers are known
#
#     planted.write(folder)       make the store FOLDER
#
# Five rates by two optimisers by two weight decays by ten seeds, 60 steps each.
# The validation loss has a minimum at a rate of 1e-3, is lower by GAP with muon
# than with adamw, does not depend on the weight decay, and varies with the
# seed, alike in all cells.  BEST is lower than that; the runs in DIVERGED are
# not finite from step 41 on; those in FAILED ended at step 20; SPIKY has one
# spike.
import hashlib
import json
import math
import os

RATES = {"1e-4": 0.8, "3e-4": 0.3, "1e-3": 0, "3e-3": 0.35, "1e-2": 0.9}
OPTIMISERS = {"adamw": 0.12, "muon": 0}
DECAYS = ("0", "0.1")
SEEDS = range(1, 11)
GAP = 0.12
STEPS = 60
BEST = "muon-1e-3-wd0.1-s7"
DIVERGED = {f"muon-1e-2-wd0-s{seed}" for seed in range(1, 6)}
FAILED = {f"adamw-3e-3-wd0.1-s{seed}" for seed in range(1, 4)}
SPIKY, SPIKE_STEP = "adamw-1e-4-wd0-s4", 45


def noise(*words):
    """The same for the same words, from -1 to 1."""
    digest = hashlib.md5(" ".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**31 - 1


def final_loss(rate, optimiser, decay, seed):
    loss = 3 + RATES[rate] + OPTIMISERS[optimiser] + 0.03 * noise("seed", seed)
    loss += 0.01 * noise(rate, optimiser, decay, seed)
    return loss - 0.3 * (f"{optimiser}-{rate}-wd{decay}-s{seed}" == BEST)


def metrics_of(name, rate, optimiser, decay, seed):
    """The points of each metric: (step, value)."""
    last = final_loss(rate, optimiser, decay, seed)
    steps = 20 if name in FAILED else STEPS
    train, val, norm = [], [], []
    for step in range(1, steps + 1):
        x = last + 5 * math.exp(-step / 8)
        if name in DIVERGED and step > 40:
            x = math.nan
        jump = 20 if (name, step) == (SPIKY, SPIKE_STEP) else 0
        train.append((step, x + 0.02 * noise(name, step) + jump))
        norm.append((step, 1 + 0.1 * noise(name, "norm", step)))
        if step % 10 == 0:
            val.append((step, x))
    return {"train/loss": train, "val/loss": val, "train/grad_norm": norm,
            "train/lr": [(s, float(rate)) for s, _ in train]}


def put(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def meta(**values):
    return "".join(f"{k}: {json.dumps(v)}\n" for k, v in values.items())


def write(folder):
    start = 1700000000000
    put(folder, "1/meta.yaml", meta(
        artifact_location="", experiment_id="1", lifecycle_stage="active",
        name="planted", creation_time=start, last_update_time=start))
    cells = [(rate, optimiser, decay, seed) for seed in SEEDS for rate in RATES
             for optimiser in OPTIMISERS for decay in DECAYS]
    for i, (rate, optimiser, decay, seed) in enumerate(cells):
        name = f"{optimiser}-{rate}-wd{decay}-s{seed}"
        run = f"1/{hashlib.md5(name.encode()).hexdigest()}"
        begin = start + 600000 * i
        status = 4 if name in FAILED | DIVERGED else 3
        put(folder, f"{run}/meta.yaml", meta(
            artifact_uri="", end_time=begin + 60000, entry_point_name="",
            experiment_id="1", lifecycle_stage="active", run_id=run[2:],
            run_name=name, run_uuid=run[2:], source_name="", source_type=4,
            source_version="", start_time=begin, status=status, tags=[],
            user_id="planted"))
        for key, value in (("optim.lr", rate), ("optim.name", optimiser),
                           ("optim.weight_decay", decay), ("seed", seed),
                           ("train.steps", STEPS)):
            put(folder, f"{run}/params/{key}", str(value))
        for key, points in metrics_of(name, rate, optimiser, decay,
                                      seed).items():
            put(folder, f"{run}/metrics/{key}", "".join(
                f"{begin + 1000 * s} {v!r} {s}\n" for s, v in points))
        put(folder, f"{run}/tags/mlflow.runName", name)
