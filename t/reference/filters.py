#!/usr/bin/env python3
"""filters.py - ask MLflow what filters find; makes t/unit/filters.golden

usage: t/unit/filter.t write DIR && filters.py DIR <filters.txt >filters.golden

Prints each filter, a tab, and the names of the runs it finds in alphabetical
order without blanks, "-" for none, or "error".
"""
import os
import sys

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow  # noqa: E402

client = mlflow.MlflowClient("file://" + os.path.abspath(sys.argv[1]))
experiments = [x.experiment_id for x in client.search_experiments()]
print("# What MLflow", mlflow.__version__, "answers; made by t/reference/filters.py.")
for line in sys.stdin:
    text = line.rstrip("\n")
    try:
        runs = client.search_runs(experiments, text)
        names = "".join(sorted(r.info.run_name for r in runs)) or "-"
    except Exception:
        names = "error"
    print(text, names, sep="\t")
