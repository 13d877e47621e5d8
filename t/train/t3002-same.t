#!/bin/sh
# Training is the same on any number of threads, and with each instruction set.
#
# Instruction sets round differently.  How much that may change a loss is
# measured here: it is 4 times what a different order of the sums changes, as
# micro-batches of other sizes have it, plus 2^-23, the last bit of a float.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 9000 >train.bin
small_ini train.threads= model.layers=2 model.width=96 model.context=64 \
    model.vocab=50 model.vocab_multiple=1 model.dropout=0.1 \
    data.train=train.bin train.micro_batch=4 train.batch=8 \
    train.deterministic=yes optim.lr=1e-3 schedule.steps=20 schedule.warmup=2 \
    >small.ini
# 20 steps into $1, settings after it; the losses go to $1.loss
train() {
    root=$1
    shift
    gtrain -q --config small.ini --root "$root" "$@" >"$root.out" 2>&1 &&
        awk '{ print $3, $2 }' "$root"/*/*/metrics/train/loss |
        sort -n >"$root.loss" &&
        cp "$root"/*/*/artifacts/checkpoints/*20/model.safetensors "$root.model"
}
train one --set train.threads=1
ok $? "a training of 20 steps on one thread ends well" "$(cat one.out)"
for threads in 2 3; do
    train by$threads --set train.threads=$threads &&
        cmp one.loss by$threads.loss && cmp one.model by$threads.model
    ok $? "$threads threads give the same bits" "$(cat by$threads.out)"
done
# How far the losses of $1 are from those of one thread, relative
furthest() {
    paste one.loss "$1.loss" | awk '{ d = ($2 - $4) / $2
        if (d < 0) d = -d; if (d > most) most = d }
        END { print NR == 20 ? most + 0 : "lines: " NR }'
}
for size in 1 2 8; do
    train micro$size --set train.micro_batch=$size && furthest micro$size
done >order
most=$(sort -g order | awk '{ x = $1 } END { if (NR == 3 && x > 0 && x < 1e-6)
    print 4 * x + 2 ^ -23 }')
test -n "$most"
ok $? "another order of the sums changes the losses, by less than 1e-6" \
    "$(cat order)"
for isa in avx512 avx2 sve512 sve256 neon c; do
    if ! GTRAIN_ISA=$isa train $isa --set train.threads=2; then
        if grep -q 'does not have it' $isa.out; then
            skip "$isa gives the losses of the others" "this CPU has no $isa"
        else
            ok 1 "the instruction set $isa trains" "$(cat $isa.out)"
        fi
        continue
    fi
    off=$(furthest $isa)
    awk -v off="$off" -v most="$most" 'BEGIN {
        exit !(off ~ /^[0-9]/ && most > 0 && off <= most + 0) }'
    ok $? "$isa has the losses of one thread, but for rounding" \
        "off by $off, at most $most"
done
if test -s avx512.model; then
    ! cmp -s avx512.model c.model
    ok $? "AVX-512 rounds otherwise than plain C, so it was used"
else
    skip "AVX-512 rounds otherwise than plain C" "this CPU has no AVX-512"
fi
done_testing
