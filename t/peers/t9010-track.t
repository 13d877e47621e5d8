#!/bin/sh
# The real mlflow server takes what gtrack pushes, the real wandb client goes on
# with it, TensorBoard reads what is exported, and what wandb and TensorBoard
# wrote is imported.  Part of `make check-peers`.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" || skip_all "make check-peers asks the peers"
server=
stop() {
    test -z "$server" || kill "$server" 2>/dev/null
    test -z "$server" || wait "$server" 2>/dev/null
    server=
}
trap 'stop; rm -rf "$dir"' EXIT
unset MLFLOW_TRACKING_URI WANDB_ENTITY WANDB_PROJECT
export MLFLOW_DISABLE_TELEMETRY=true
export WANDB_ERROR_REPORTING=false WANDB_SILENT=true
has() { "$python" -c "import $1" 2>/dev/null; }

seq 1 1200 | sed 's/.*/step=& loss=0.& lr=1e-3/' |
    gtrack log a -p x=1 -p 'y=Grüße' 2>err
printf 'step=1 q=nan\nstep=2 q=inf\nstep=3 q=-inf\n' | gtrack log b -e two 2>err
echo hi >"$(gtrack where b)/artifacts/n o.txt"
add_dataset b c4

if has mlflow; then
    port=$("$python" -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$python" -m mlflow server --backend-store-uri "sqlite:///$dir/m.db" \
        --artifacts-destination "$dir/art" --host 127.0.0.1 --port "$port" \
        --workers 1 >server.log 2>&1 &
    server=$!
    url=http://127.0.0.1:$port
    "$python" - "$url" <<'P'
import sys, time, urllib.request
for _ in range(600):
    try:
        urllib.request.urlopen(sys.argv[1] + "/health")
        sys.exit(0)
    except OSError:
        time.sleep(0.1)
P
    g push --to mlflow "$url"
    ok $? "MLflow's server accepts runs, points and files"
    g push --to mlflow "$url" && ! grep -v ' 0 points, 0 files' err
    ok $? "MLflow's server gets nothing twice"
    rm "$(gtrack where a)"/.gtrack/push.*
    g push --to mlflow "$url" a && grep -q ' 0 points' err
    ok $? "MLflow's server gets nothing twice without the cursor"
    MLFLOW_TRACKING_URI=$url "$python" - >out 2>err <<'P'
import math, mlflow
c = mlflow.MlflowClient()
runs = {r.info.run_name: r for r in c.search_runs(
    [x.experiment_id for x in c.search_experiments()])}
a, b = runs["a"], runs["b"]
assert a.info.status == "FINISHED" and a.data.params["y"] == "Grüße"
h = c.get_metric_history(a.info.run_id, "loss")
assert sorted(p.step for p in h) == list(range(1, 1201))
assert all(p.value == float("0.%d" % p.step) for p in h)
h = {p.step: p.value for p in c.get_metric_history(b.info.run_id, "q")}
assert math.isnan(h[1]) and h[2] > 1e308 and h[3] < -1e308
d = c.get_run(b.info.run_id).inputs.dataset_inputs
assert [(x.dataset.name, x.dataset.digest, x.tags[0].value)
        for x in d] == [("c4", "abc", "training")]
assert [f.path for f in c.list_artifacts(b.info.run_id)] == ["n o.txt"]
P
    ok $? "MLflow's client reads every value at the server"
    top_id=$(gtrack run start --name top) && gtrack run end "$top_id"
    mid_id=$(gtrack run start --name mid --parent "$top_id") &&
        gtrack run end "$mid_id"
    gtrack run start --name low --parent "$mid_id" >id &&
        gtrack run end "$(cat id)"
    g push --to mlflow "$url" top mid low &&
        MLFLOW_TRACKING_URI=$url "$python" - >out 2>err <<'P'
import mlflow
c = mlflow.MlflowClient()
runs = {r.info.run_name: r for r in c.search_runs(
    [x.experiment_id for x in c.search_experiments()])}
for child, parent in ("mid", "top"), ("low", "mid"):
    assert (runs[child].data.tags["mlflow.parentRunId"] ==
            runs[parent].info.run_id), (child, parent)
P
    ok $? "children at MLflow's server have their parents there"
    pkill -TERM -P "$server" 2>/dev/null
    stop
    "$python" "$top/t/peers/filters.py" filters 150 7 >out 2>err
    ok $? "random filters find what MLflow finds: $(tail -n 1 out)"
else
    for name in takes twice cursor reads parents filters; do
        skip "MLflow's server and client agree with gtrack ($name)" \
            "no mlflow in $python; set GT_PYTHON"
    done
fi

if has wandb; then
    mkdir srv
    "$top/t/lib/server.pl" wandb "$dir/srv" &
    server=$!
    await_file srv/url
    WANDB_API_KEY=$(printf 'k%.0s' $(seq 40)) && export WANDB_API_KEY
    WANDB_BASE_URL=$(cat srv/url) && export WANDB_BASE_URL
    id=$(gtrack where b) && id=${id##*/}
    g push --to wandb b --entity team
    timeout 120 "$python" - "$id" >out 2>err <<'P'
import sys, wandb
run = wandb.init(id=sys.argv[1], project="two", entity="team", resume="must")
for i in range(3):
    run.log({"q": float(i)})
run.finish()
P
    ok $? "wandb's client resumes a run that was pushed"
    perl -MJSON::PP -MHTTP::Tiny -e '
        my $s = decode_json(HTTP::Tiny->new->get("$ARGV[0]/state/")->{content});
        print join " ", map { /"_step":(\d+)/ }
            @{$s->{run}{$ARGV[1]}{"wandb-history.jsonl"}}' \
        "$WANDB_BASE_URL" "$id" >out
    test "$(cat out)" = "1 2 3 4 5 6"
    ok $? "the steps of wandb's client follow those that were pushed"
    stop
    unset WANDB_BASE_URL WANDB_API_KEY
    WANDB_MODE=offline "$python" - >out 2>err <<'P'
import wandb
run = wandb.init(project="off", name="offline", config={"lr": 1e-3,
                 "model": {"n_layer": 12}, "big": 2**70},
                 tags=["baseline", "team=core"], job_type="train")
print("printed")
for i in range(500):
    run.log({"train/loss": 1.0 / (i + 1), "d": {"e": float("nan")}})
run.log({"hist": wandb.Histogram([1, 2, 3])})
run.summary["best"] = 0.125
run.finish()
P
    g import wandb && ! grep "left out" err && g metrics offline --tsv &&
        grep -q '^train/loss	500	0	499	0.002	' out &&
        grep -q '^d/e	500	' out &&
        g ls offline -c lr,model.n_layer,experiment --no-header &&
        test "$(cat out)" = "0.001	12	off" &&
        g ls offline -c best,tags.team,tags.wandb.job_type --no-header &&
        test "$(cat out)" = "0.125	core	train" &&
        grep -qx printed "$(gtrack where offline)/artifacts/output.log"
    ok $? "every point of an offline run of wandb is imported"
    file=$(gtrack where offline)/artifacts/histograms/hist.jsonl
    perl -MJSON::PP -ne 'BEGIN { $n = 0 }
        my $h = decode_json($_); $n += $_ for @{$h->{values}};
        END { exit !($. == 1 && $n == 3 && @{$h->{bins}} == @{$h->{values}} + 1) }' "$file" 2>err
    ok $? "a histogram of wandb's client is imported"
else
    for name in resume lines import histogram; do
        skip "wandb's client agrees with gtrack ($name)" \
            "no wandb in $python; set GT_PYTHON"
    done
fi

if has tensorboard; then
    g export --to tensorboard -o tb a
    "$python" - >out 2>err <<'P'
from tensorboard.backend.event_processing.event_accumulator import (
    EventAccumulator)
e = EventAccumulator("tb/a", size_guidance={"scalars": 0})
e.Reload()
s = e.Scalars("loss")
assert [x.step for x in s] == list(range(1, 1201))
assert all(abs(x.value - float("0.%d" % x.step)) < 1e-6 for x in s)
P
    ok $? "TensorBoard reads exported files"
else
    skip "TensorBoard reads exported files" \
        "no tensorboard in $python; set GT_PYTHON"
fi
done_testing
