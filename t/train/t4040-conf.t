#!/bin/sh
# Each settings file of ours trains a step, its model made smaller.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 3000 >data.bin
small="--set model.layers=1 --set model.context=32 --set model.vocab=500
    --set data.order=epoch --set model.mask=causal
    --set data.tokenizer= --set data.train=data.bin --set data.val=data.bin
    --set train.device=cpu --set train.threads=1 --set train.micro_batch=1
    --set train.batch=2 --set train.stop_at=1 --set eval.sequences=2
    --set eval.tasks_every=0 --set sample.every=0
    --set checkpoint.last=no --set checkpoint.every=0
    --set checkpoint.keep_best=no"
ln -s "$top/conf" conf
for conf in conf/*.ini; do
    # rules of gdata clean, and tasks
    case $conf in */clean-* | */tasks.ini) continue ;; esac
    if grep -q '^\[sweep\]' "$conf"; then
        # shellcheck disable=SC2086 # one word a setting
        gtrain sweep "$conf" --set run.root=runs $small >out 2>&1
        ok $? "${conf##*/} trains a step of every cell"
    else
        # shellcheck disable=SC2086 # one word a setting
        gtrain --config "$conf" --root runs $small >out 2>&1 &&
            grep -q 'step 1' out
        ok $? "${conf##*/} trains a step"
    fi
done
done_testing
