#!/bin/sh
# Trainings with everything that can happen after a step, killed around each
# kind of event and run again, have all files and points of those that were not.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
. "$top/t/lib/serve.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"
perl -MJSON::PP -e 1 2>/dev/null || skip_all "no perl with JSON::PP"

export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
encode_letters letters
# digits make a spike of the loss after some ten steps
{
    head -c 860 text.txt
    printf '%s' 314159265358979323846264338327950288419716939937510582097494
    tail -c +861 text.txt
} >digits.txt
gdata encode -q --tokenizer tok -o digits digits.txt >out 2>&1
awk 'BEGIN { for (i = 0; i < 20; i++)
    printf "{\"ctx\":\"a%d\",\"endings\":[\"b\",\"c\"],\"label\":%d}\n",
        i, i % 2 }' >questions.jsonl
# a setting that is not here has its default: each feature has its line
small_ini data.train='digits_*.bin' data.val='letters_*.bin' \
    data.tokenizer=tok data.order=sequential model.vocab=260 model.dropout=0.1 \
    train.micro_batch=1 train.batch=6 train.ramp=5 train.deterministic=yes \
    train.spike_window=8 train.spike_loss=2 parallel.timeout=1h \
    schedule.steps=24 schedule.warmup=4 \
    eval.at_start=yes eval.every=2 eval.sequences=4 eval.patience=6 eval.min_delta=0.5 \
    eval.tasks=questions eval.tasks_data=. eval.tasks_every=4 \
    sample.every=4 sample.tokens=8 sample.count=2 \
    checkpoint.every=3 checkpoint.keep_last=2 checkpoint.keep_every=6 \
    checkpoint.keep_best=yes \
    run.name=r run.note=hello run.tags='team=a' run.tensorboard=tb >c.ini
here=$PWD
prepare() { cp -R "$here/tok" "$here"/*_*.bin "$here/c.ini" \
    "$here/questions.jsonl" .; }
verify() {
    rm -rf tb.runs
    # what ranks send each other, and how many the first attempt had
    of_ranks=none
    ! grep -q mixed ../typed || of_ranks='^(TensorBoard: )?perf/(sent_|comm_)'\
'|^params/derived|^tags/mlflow.source.name'
    perl "$top/t/lib/run_facts.pl" mlruns tb 2>&1 | grep -vE "$of_ranks" |
        compare_results
}
train="gtrain -q --config c.ini --resume auto"
# each attempt has another number of ranks
cat >mixed.sh <<END
set -- \$(find . -name 'attempt.*.yaml' | wc -l) "\$@"
case \$1 in 0) ranks=1 ;; 1) ranks=3 ;; *) ranks=2 ;; esac
shift
exec $train --ranks \$ranks "\$@"
END
commands="gtrain with bf16 masters|$train --set optim.masters=bf16 \
--set optim.moments=bf16 --set train.precision=bf16 --set optim.lr=3e-2 \
--set train.on_spike=skip
gtrain --ranks 2 with Muon and zero2|$train --ranks 2 --set optim.name=muon \
--set optim.lr=3e-2 --set parallel.mode=zero2 \
--set train.on_spike=rollback
gtrain on 1, 3 and 2 ranks, with bf16 masters|sh ../mixed.sh --set parallel.mode=zero2 \
--set optim.masters=bf16 --set optim.moments=bf16 --set train.precision=bf16 \
--set optim.lr=3e-2 --set train.on_spike=skip
gtrain --ranks 3 with fp16 and fsdp|$train --ranks 3 --set optim.lr=3e-2 \
--set train.precision=fp16 --set train.loss_scale_window=3 \
--set parallel.mode=fsdp --set train.on_spike=skip --set checkpoint.async=no"

# a page reads along
mkdir case
start -r case/mlruns
read_along() {
    while test ! -e ended; do
        ask '/api/runs?store=0'
        status | grep . || cat out
        for run in case/mlruns/0/*; do
            test ! -e "$run" || ask "/api/run?id=${run##*/}"
        done
        status | grep . || cat out
        perl -e 'select undef, undef, undef, .05'
    done >answers
}
read_along &
reader=$!
thin=5
# log.txt has a line of each event at once, and a thread writes the points
for what in /log.txt /samples/ /checkpoints/ metrics/val/loss \
    metrics/task/questions/acc metrics/event/ tags/stopped tb/ meta.yaml; do
    campaign_over "kill:$what" "$(or_long 2)"
done
thin=1
campaign_over kill "$(or_long 1)"
: >ended
wait $reader
echo "# the page: $(sort answers | uniq -c | tr '\n' ' ')"
ask '/api/runs?store=0'
is "$(grep -vx -e 200 -e 404 answers)$(grep -o '"name":"r"' out)" '"name":"r"' \
    "a page that reads along answers each time, and has the run in the end"
stop
done_testing
