#!/bin/sh
# The real MLflow: it reads what we wrote, we read what it wrote, and its own
# migration counts the same.  Part of `make check-peers`; skipped without it.
python=${GT_PYTHON:-python3}
tool=${top_builddir:-.}/t/lib/store-tool
test -n "${GT_PEERS:-}" || {
    echo "1..0 # SKIP make check-peers asks the peers"
    exit 0
}
"$python" -c 'import mlflow' 2>/dev/null || {
    echo "1..0 # SKIP no mlflow in $python; set GT_PYTHON"
    exit 0
}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
export GTRACK_CACHE='' MLFLOW_ALLOW_FILE_STORE=true
export MLFLOW_DISABLE_TELEMETRY=true
n=0
ok() {
    n=$((n + 1))
    if test "$1" -eq 0; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

# migrate STORE DATABASE: what the migration says, to the log
migrate() {
    "$python" -m mlflow migrate-filestore --source "$dir/$1" \
        --target "sqlite:///$dir/$2" >"$dir/log" 2>&1
}

# The result of a migration, which came with MLflow 3.
moved() {
    if "$python" -m mlflow migrate-filestore --help >"$dir/help" 2>&1; then
        ok "$1" "$2"
    else
        n=$((n + 1))
        echo "ok $n - $2 # SKIP this MLflow has no migrate-filestore"
    fi
}

"$tool" write "$dir/ours" 500 >/dev/null && "$tool" write "$dir/ours" 300 \
    >/dev/null && "$tool" resume "$dir/ours" 400 >/dev/null
ok $? "two runs are written, one of them in two attempts"
"$python" - "$dir/ours" >"$dir/read" 2>"$dir/log" <<'P'
import sys
import mlflow

client = mlflow.MlflowClient("file://" + sys.argv[1])
runs = client.search_runs(
    [x.experiment_id for x in client.search_experiments()],
    "params.`model/width` = '64' and metrics.`train/loss` > 0")
points = 0
for run in runs:
    assert run.info.status == "FINISHED", run.info
    assert run.data.params == {"lr": "0.001", "model/width": "64"}
    assert run.data.tags["note"] == "of the tool"
    for key in run.data.metrics:
        history = client.get_metric_history(run.info.run_id, key)
        points += len(history)
        for p in history:
            i = ["train/loss", "lr", "val/acc"].index(key)
            assert p.value == (p.step + i) * 0.1234567890123, p
    client.list_artifacts(run.info.run_id)
print(len(runs), "runs", points, "points")
P
ok $? "MLflow reads every value as it was logged"
grep -q "$("$tool" check "$dir/ours" | cut -d' ' -f1-4)" "$dir/read"
ok $? "and as many: $(cat "$dir/read")"
migrate ours m.db
moved $? "migrate-filestore takes the store"
awk '$1 == "runs" || $1 == "metrics" { if ($2 != $3) bad = 1; n++ }
     $1 == "runs" && $2 != 2 { bad = 1 }
     END { exit bad || n != 2 }' "$dir/log"
moved $? "with equal counts"

"$python" - "$dir/theirs" >"$dir/log" 2>&1 <<'P'
import sys
import mlflow

mlflow.set_tracking_uri("file://" + sys.argv[1])
mlflow.set_experiment("theirs")
for name in ("a", "b: 'c' #d", "1e3", "\u00fc\U0001f680"):
    with mlflow.start_run(run_name=name):
        mlflow.log_params({"lr": 1e-3, "text": "x\ny"})
        for step in range(50):
            mlflow.log_metrics({"loss": 1 / (step + 1), "val/acc": step}, step)
        mlflow.log_metric("odd", float("nan"))
P
ok $? "MLflow writes a store"
"$tool" check "$dir/theirs" >"$dir/read" 2>&1 &&
    grep -q '^4 runs 404 points' "$dir/read"
ok $? "we read it: $(cat "$dir/read")"

printf 'step=1 x=1\nstep=1 x=1\nstep=1 x=nan\nstep=1 x=nan\n' |
    gtrack -r "$dir/twice" log 2>"$dir/log" && migrate twice t.db &&
    grep -q 'metrics  *4  *4$' "$dir/log"
moved $? "points that were logged twice do not end the migration"
rm "$(ls -d "$dir"/ours/[1-9]*/meta.yaml)" "$dir"/ours/[1-9]*/*/meta.yaml
gtrack -r "$dir/ours" fsck --repair >"$dir/log" 2>&1
ok $? "meta.yaml of all runs and of the experiment are made anew"
"$python" - "$dir/ours" >>"$dir/log" 2>&1 <<'P'
import sys
import mlflow

client = mlflow.MlflowClient("file://" + sys.argv[1])
names = [x.name for x in client.search_experiments()]
runs = client.search_runs(
    [x.experiment_id for x in client.search_experiments()])
assert len(names) == 2 and len(runs) == 2, (names, runs)
for run in runs:
    assert run.info.status == "FINISHED" and run.info.start_time, run.info
    assert run.data.params == {"lr": "0.001", "model/width": "64"}
    assert run.info.run_name == run.data.tags["mlflow.runName"]
P
ok $? "and MLflow reads them"
migrate ours again.db &&
    awk '$1 == "runs" && $2 == 2 && $3 == 2 { n++ }
         $1 == "metrics" && $2 == $3 { n++ } END { exit n != 2 }' "$dir/log"
moved $? "and migrates them"
echo "1..$n"
