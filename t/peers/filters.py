#!/usr/bin/env python3
"""peers-filters.py - random filters, answered by MLflow and by gtrack

usage: peers-filters.py DIR [COUNT [SEED]]

MLflow writes a store of odd runs into DIR, and is asked COUNT filters of its
own grammar; `gtrack ls` has to find the same runs.  Where MLflow refuses a
filter gtrack may know more than it does.  Prints each difference; the exit
status says whether there was any.
"""
import json
import os
import random
import subprocess
import sys

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow  # noqa: E402

root = os.path.join(os.path.abspath(sys.argv[1]), "mlruns")
count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
client = mlflow.MlflowClient("file://" + root)

TEXTS = ["", "0.001", "1e-3", "True", "abc", "ABC", "a%b", "a_b", "x\ny",
         "Gr\u00fc\u00dfe", "gr\u00dc\u00dfE", " lead", "it's", 'say "so"',
         "10", "9", "%", "_", "\U0001f680", "a\\b", "None", "a.b", "[x]", "*"]
NUMBERS = [0.0, -0.0, 1.0, -5.5, 0.1, 1e-3, 1e16, 1e308, -1e308, 5e-324,
           float("nan"), float("inf"), float("-inf"), 3.0, 2.5]
METRICS = ["loss", "valid/loss", "a b", "x-y", "x.y", "\u00fcber", "n:s"]
PARAMS = ["lr", "optim.lr", "a/b", "a b", "Lr", "in", "and"]
TAGS = ["note", "mlflow.note.content", "k-v", "x y"]
STATUS = ["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"]


def make_store():
    ids = [client.create_experiment("e%d" % i) for i in range(2)]
    for i in range(40):
        run = client.create_run(ids[i % 2], run_name=rng.choice(
            ["run %d" % i, "B", "b", "\u00fc\U0001f680", "it's", "1e3", "null",
             "a: b", "- x", "#%d" % i]))
        rid = run.info.run_id
        for key in rng.sample(METRICS, rng.randint(0, len(METRICS))):
            for step in range(rng.randint(1, 3)):
                client.log_metric(rid, key, rng.choice(NUMBERS),
                                  step=rng.choice([-1, 0, 0, 1, 5]))
        for key in rng.sample(PARAMS, rng.randint(0, len(PARAMS))):
            client.log_param(rid, key, rng.choice(TEXTS))
        for key in rng.sample(TAGS, rng.randint(0, len(TAGS))):
            client.set_tag(rid, key, rng.choice(TEXTS))
        client.set_terminated(rid, rng.choice(STATUS)) if i % 5 else None
        if i % 9 == 0:
            client.delete_run(rid)
    return ids


def quoted(key):
    plain = all(c.isalnum() or c in "._" for c in key) and key.isascii()
    if plain and key not in ("in", "and") and rng.random() < 0.6:
        return key
    return rng.choice("`\"") .join(["", key, ""])


def string():
    text = rng.choice(TEXTS + STATUS[2:])
    if rng.random() < 0.3:
        text = rng.choice(["%", "_", "", "a%", "%e", "__", "%\n%", "gr%E"])
    mark = "\"" if "'" in text else "'" if '"' in text else rng.choice("'\"")
    return mark + text + mark


def number():
    return rng.choice(["0", "-5.5", "1e-3", ".1", "5.", "1e16", "1.0", "3",
                       "-0", "1e308", "2.50", "-1e308", "0.1"])


def case(word):
    return rng.choice([word, word.lower(), word.title()])


def clause(runs):
    kind = rng.choice("mmmppptta rs".replace(" ", ""))
    if kind == "m":
        return "%s.%s %s %s" % (
            rng.choice(["metrics", "metric"]),
            quoted(rng.choice(METRICS + ["none"])),
            rng.choice(["=", "!=", "<", "<=", ">", ">="]), number())
    if kind in "pt":
        entity, keys = ((["params", "param", "parameters", "parameter"],
                         PARAMS) if kind == "p" else (["tags", "tag"], TAGS))
        who = "%s.%s" % (rng.choice(entity),
                         quoted(rng.choice(keys + ["none"])))
        if rng.random() < 0.15:
            return who + case(rng.choice([" IS NULL", " IS NOT NULL"]))
        return "%s %s %s" % (who, rng.choice(
            ["=", "!=", case("LIKE"), case("ILIKE")]), string())
    if kind == "a":
        return "%s%s %s %s" % (
            rng.choice(["", "attributes.", "attribute.", "attr.", "run."]),
            rng.choice(["start_time", "end_time", "created"]),
            rng.choice(["=", "!=", "<", "<=", ">", ">="]),
            rng.choice(["0", "1", "9999999999999",
                        str(rng.choice(runs).info.start_time),
                        str(rng.choice(runs).info.end_time or 5)]))
    if kind == "r":
        ids = [rng.choice(runs).info.run_id for _ in range(rng.randint(1, 4))]
        return "%s%s (%s)" % (
            rng.choice(["run_id", "attributes.run_id"]),
            case(rng.choice([" IN", " NOT IN"])),
            ", ".join("'%s'" % x for x in ids))
    key = rng.choice(["status", "run_name", "`run name`", "user_id",
                      "artifact_uri", "run_id"])
    # Capitals only: unlike MLflow, gtrack takes a status in any case.
    text = rng.choice([string(), "'%s'" % rng.choice(STATUS), "'run%'",
                       "'%1_'"])
    return "%s%s %s %s" % (rng.choice(["", "attributes."]), key, rng.choice(
        ["=", "!=", case("LIKE"), case("ILIKE")]), text)


def ours(text):
    done = subprocess.run(["gtrack", "ls", "-r", root, "--json", "-w", text],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 3 and (b"no run has" in done.stderr or
                                 b"there is no status" in done.stderr):
        return []       # gtrack says what is wrong; MLflow finds nothing
    if done.returncode:
        return "error: " + done.stderr.decode("utf-8", "replace").strip()
    return sorted(r["id"] for r in json.loads(done.stdout)["rows"])


def main():
    experiments = make_store()
    runs = list(client.search_runs(experiments))
    different = answered = 0
    for _ in range(count):
        text = case(" AND ").join(clause(runs)
                                  for _ in range(rng.choice([1, 1, 2, 3])))
        try:
            theirs = sorted(r.info.run_id
                            for r in client.search_runs(experiments, text))
        except mlflow.exceptions.MlflowException:
            continue
        answered += 1
        mine = ours(text)
        if mine != theirs:
            different += 1
            print("%r: %s" % (text, mine if isinstance(mine, str) else
                              "ours %d, MLflow's %d, both %d" % (
                                  len(mine), len(theirs),
                                  len(set(mine) & set(theirs)))))
    print("%d filters, %d answered, %d differently" % (count, answered,
                                                       different))
    sys.exit(different > 0 or answered < count // 2)


main()
