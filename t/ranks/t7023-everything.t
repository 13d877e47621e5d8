#!/bin/sh
# Trainings with everything that can happen after a step, killed around each
# kind of event and run again, have all files and points of those that were not.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
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
        i, i % 2 }' >hella.jsonl
# a setting that is not here has its default: each feature has its line
small_ini data.train='digits_*.bin' data.val='letters_*.bin' \
    data.tokenizer=tok data.order=sequential model.vocab=260 model.dropout=0.1 \
    train.micro_batch=1 train.batch=6 train.ramp=5 train.deterministic=yes \
    train.spike_window=8 train.spike_loss=2 \
    schedule.steps=24 schedule.warmup=4 \
    eval.at_start=yes eval.every=2 eval.sequences=4 eval.patience=6 eval.min_delta=0.5 \
    eval.hellaswag=hella.jsonl eval.hellaswag_every=4 \
    sample.every=4 sample.tokens=8 sample.count=2 \
    checkpoint.every=3 checkpoint.keep_last=2 checkpoint.keep_every=6 \
    checkpoint.keep_best=yes \
    run.name=r run.note=hello run.tags='team=a' run.tensorboard=tb >c.ini
here=$PWD
prepare() { cp -R "$here/tok" "$here"/*_*.bin "$here/c.ini" \
    "$here/hella.jsonl" .; }
verify() {
    rm -rf tb.runs
    perl "$top/t/lib/run_facts.pl" mlruns tb 2>&1 | compare_results
}
train="gtrain -q --config c.ini --resume auto"
commands="gtrain with bf16 masters|$train --set optim.masters=bf16 \
--set optim.moments=bf16 --set train.precision=bf16 --set optim.lr=3e-2 \
--set train.on_spike=skip
gtrain --ranks 2 with Muon and zero2|$train --ranks 2 --set optim.name=muon \
--set optim.momentum_warmup=6 --set optim.lr=3e-2 --set parallel.mode=zero2 \
--set train.on_spike=rollback
gtrain --ranks 3 with fp16 and fsdp|$train --ranks 3 --set optim.lr=3e-2 \
--set train.precision=fp16 --set train.loss_scale_window=3 \
--set parallel.mode=fsdp --set train.on_spike=skip --set checkpoint.async=no"
thin=4
# log.txt has a line of each event at once, and a thread writes the points
for what in /log.txt /samples/ /checkpoints/ metrics/val/loss \
    metrics/hellaswag/acc metrics/event/ tags/stopped tb/ meta.yaml; do
    campaign_over "kill:$what" "$(or_long 2)"
done
thin=1
campaign_over kill "$(or_long 1)"
done_testing
