#!/bin/sh
# The real MLflow: it reads what we wrote, we read what it wrote, and its own
# migration counts the same.  Part of `make check-peers`; skipped without it.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
tool=$build/t/lib/store_tool
test -n "${GT_PEERS:-}" ||
    skip_all "make check-peers asks the peers"
"$python" -c 'import mlflow' 2>/dev/null ||
    skip_all "no mlflow in $python; set GT_PYTHON"
export MLFLOW_ALLOW_FILE_STORE=true
export MLFLOW_DISABLE_TELEMETRY=true

# migrate STORE DATABASE: what the migration says, to the log
migrate() {
    "$python" -m mlflow migrate-filestore --source "$dir/$1" \
        --target "sqlite:///$dir/$2" >log 2>&1
}

# The result of a migration, which came with MLflow 3.
moved() {
    if "$python" -m mlflow migrate-filestore --help >help 2>&1; then
        ok "$1" "$2"
    else
        skip "$2" "this MLflow has no migrate-filestore"
    fi
}

"$tool" write ours 500 >/dev/null && "$tool" write ours 300 \
    >/dev/null && "$tool" resume ours 400 >/dev/null
ok $? "two runs are written in three attempts"
"$python" - "$dir/ours" >got 2>log <<'P'
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
grep -q "$("$tool" check ours | cut -d' ' -f1-4)" got
ok $? "MLflow finds as many runs and points as were written"
migrate ours m.db
moved $? "migrate-filestore accepts our store"
awk '$1 == "runs" || $1 == "metrics" { if ($2 != $3) bad = 1; n++ }
     $1 == "runs" && $2 != 2 { bad = 1 }
     END { exit bad || n != 2 }' log
moved $? "migrate-filestore counts as many runs and metrics"

"$python" - "$dir/theirs" >log 2>&1 <<'P'
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
"$tool" check theirs >got 2>&1 &&
    grep -q '^4 runs 404 points' got
ok $? "every run and point of MLflow's store is read"

printf 'step=1 x=1\nstep=1 x=1\nstep=1 x=nan\nstep=1 x=nan\n' |
    gtrack -r twice log 2>log && migrate twice t.db &&
    grep -q 'metrics  *4  *4$' log
moved $? "migrate-filestore accepts points that were logged twice"
rm "$(ls -d ours/[1-9]*/meta.yaml)" ours/[1-9]*/*/meta.yaml
gtrack -r ours fsck --repair >log 2>&1
ok $? "fsck --repair rewrites every missing meta.yaml"
"$python" - "$dir/ours" >>log 2>&1 <<'P'
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
ok $? "MLflow reads a repaired store"
migrate ours again.db &&
    awk '$1 == "runs" && $2 == 2 && $3 == 2 { n++ }
         $1 == "metrics" && $2 == $3 { n++ } END { exit n != 2 }' log
moved $? "migrate-filestore accepts a repaired store"

# its database, since 3.13 the default
mkdir sql
(cd sql && MLFLOW_TRACKING_URI="sqlite:///mlflow.db" "$python" -) >log 2>&1 <<'P'
import mlflow

mlflow.create_experiment("exp", artifact_location="mlruns/1")
mlflow.set_experiment("exp")
with mlflow.start_run(run_name="above"):
    mlflow.log_param("lr", "1e-3")
    mlflow.set_tag("colour", "grün")
    for i in range(500):
        mlflow.log_metric("loss", 1 / (i + 1), step=i)
    for i, x in enumerate(("nan", "inf", "-inf")):
        mlflow.log_metric("bad", float(x), step=i)
    mlflow.log_text("hi", "a file.txt")
    with mlflow.start_run(run_name="below", nested=True):
        mlflow.log_metric("loss", 2.5, step=7)
try:
    with mlflow.start_run(run_name="broken"):
        raise ValueError
except ValueError:
    pass
with mlflow.start_run(run_name="gone") as run:
    mlflow.log_metric("loss", 1)
mlflow.delete_run(run.info.run_id)
P
gtrack -r from-sql import sql/mlflow.db >out 2>err
if grep -q 'was built without SQLite' err; then
    skip "the database of MLflow is imported" "gtrack was built without SQLite"
else
    gtrack -r from-sql ls -d --tsv --no-header --sort name \
        -c name,status,parent,deleted,params.lr,tags.colour,metrics.loss |
        sed "s/$(gtrack -r from-sql where above | sed 's|.*/||')/ID/" >got
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' \
        above FINISHED '' '' 1e-3 grün 0.002 below FINISHED ID '' '' '' 2.5 \
        broken FAILED '' '' '' '' '' gone FINISHED '' deleted '' '' 1.0 >want
    gtrack -r from-sql metrics above bad --no-header --tsv | cut -f2 |
        tr '\n' ' ' >bad
    cmp want got && test "$(cat bad)" = 'nan inf -inf ' &&
        test -e "$(gtrack -r from-sql where above)/artifacts/a file.txt" &&
        test "$(gtrack -r from-sql metrics above loss --no-header | wc -l)" -eq 500
    ok $? "the database of MLflow is imported" "$(cat log err got bad)"
fi
if grep -q 'was built without SQLite' err; then
    skip "the database of Trackio is imported" "gtrack was built without SQLite"
elif "$python" -c 'import trackio' 2>/dev/null; then
    TRACKIO_DIR="$dir/tr" HF_HUB_OFFLINE=1 "$python" - >log 2>&1 <<'P'
import trackio

trackio.init(project="proj", name="one", config={"lr": 1e-3})
for i in range(50):
    trackio.log({"loss": 1 / (i + 1), "bad": float("inf")})
trackio.finish()
P
    gtrack -r from-trackio import tr/proj.db >out 2>err
    is "$(gtrack -r from-trackio ls --tsv --no-header -c \
        name,status,experiment,steps,metrics.loss,metrics.bad,params.lr)" \
        "$(printf 'one\tFINISHED\tproj\t49\t0.02\tinf\t0.001')" \
        "the database of Trackio is imported"
else
    skip "the database of Trackio is imported" "no trackio in $python"
fi

# what MLflow writes to a run of ours that has ended
"$build/t/lib/mkruns" ended big:1:20:4
id=$(gtrack -r ended ls -c id --tsv --no-header -n 1)
gtrack -r ended tag -q "$id" stage=one
cat >ended.py <<'P'
import os, subprocess, sys
import mlflow
root, id = sys.argv[1:]
mlflow.set_tracking_uri("file://" + root)
client = mlflow.MlflowClient()


def say(cache):
    env = dict(os.environ, GTRACK_CACHE=cache, GT_CLOCK_MS="4000000000000")
    return [subprocess.run(["gtrack", "-r", root, *words], env=env, check=True,
                           capture_output=True).stdout
            for words in (["show", id], ["ls", "--json", "--all"])]


def seen(what):
    if say(os.path.abspath("cache")) != say(""):
        print(what, "is not shown")


seen("the run")
client.set_tag(id, "stage", "two"), seen("a tag")
client.set_tag(id, "mlflow.note.content", "a note"), seen("a note")
client.log_param(id, "late", 1), seen("a parameter")
client.log_metric(id, "acc", 0.5, step=1), seen("a metric")
with mlflow.start_run(run_id=id):
    mlflow.log_metric("train/loss", 8, step=100), seen("a point")
seen("the end")
print("done")
P
is "$("$python" ended.py "$dir/ended" "$id" 2>err)" done \
    "whatever MLflow writes to a run of ours that has ended is seen" "$(cat err)"
done_testing
