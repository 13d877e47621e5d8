#!/bin/sh
# The gradient noise scale is that of the norms of two batches.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_ranks_case
# metric ROOT NAME: the steps and values of a metric, one a line
metric() {
    awk '{ print $3, $2 }' "$1"/*/*/metrics/train/"$2" | sort -n
}
# train ROOT RANKS OPTION...: 6 steps, whose noise goes to ROOT.noise
train() {
    root=$1 n=$2
    shift 2
    gtrain -q --ranks "$n" --config c.ini --root "$root" \
        --set schedule.steps=6 --set eval.every=0 "$@" >"$root.out" 2>&1 &&
        metric "$root" noise_scale >"$root.noise"
}

train one 1
ok $? "a training whose steps have 12 micro-batches ends well" "$(cat one.out)"
# Without an update, the first step of other trainings has the same weights: of
# one of 1 sequence, the gradient is that of the first micro-batch.
gtrain -q --config c.ini --root small --set train.batch=1 \
    --set schedule.steps=1 --set eval.every=0 >small.out 2>&1
metric small grad_norm >small.norm
metric one grad_norm | head -n 1 | paste small.norm - one.noise >all
awk 'NR == 1 {
    small = $2 ^ 2; large = $4 ^ 2; tokens = 8
    square = (12 * large - small) / 11
    variance = (small - large) / (1 / tokens - 1 / (12 * tokens))
    want = variance / square
    print "want", want, "is", $6
    exit !(want > 0 && ($6 / want - 1) ^ 2 < 1e-12) }' all >told
ok $? "the noise scale is that of the norms of two trainings" "$(cat told all)"
test ! -e small/*/*/metrics/train/noise_scale
ok $? "a step of one micro-batch has no noise scale"

for n in 2 3 4; do
    train on$n $n && cmp one.noise on$n.noise
    ok $? "$n ranks measure the same noise scale as one" \
        "$(cat on$n.out; diff one.noise on$n.noise)"
done
for mode in zero1 zero2 fsdp; do
    train $mode 2 --set parallel.mode=$mode && cmp one.noise $mode.noise
    ok $? "ranks of $mode measure the same noise scale as one rank" \
        "$(cat $mode.out; diff one.noise $mode.noise)"
done
# Otherwise rounding differs.
train loose 1 --set train.deterministic=no && train loose2 2 \
    --set train.deterministic=no &&
    paste one.noise loose.noise loose2.noise | awk '
        function far(x) { x = x / $2 - 1; return x * x > 1e-8 }
        far($4) || far($6) { bad = 1 }
        END { exit bad || NR != 6 }'
ok $? "sums in any order measure the same noise scale, but for rounding" \
    "$(paste one.noise loose.noise loose2.noise)"

gtrain -q --config c.ini --root again --set schedule.steps=6 \
    --set train.stop_at=3 --set eval.every=0 >again.out 2>&1 &&
    gtrain -q --config c.ini --root again --resume auto --set schedule.steps=6 \
        --set eval.every=0 >>again.out 2>&1 &&
    metric again noise_scale >again.noise && cmp one.noise again.noise
ok $? "a training that is resumed continues the averages of the noise scale" \
    "$(cat again.out; diff one.noise again.noise)"
done_testing
