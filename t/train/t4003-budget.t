#!/bin/sh
# gtrain plan --budget: the size and the steps that a number of hours allows.
. "$(dirname "$0")/../lib/tap.sh"

for width in 64 128 256; do
    cat >w$width.ini <<END
[model]
layers = 4
heads = 4
width = $width
context = 256
vocab = 1000
[train]
micro_batch = 4
device = cpu
[schedule]
steps = 1000
[plan]
peak_tflops = 2
mfu = 0.5
END
done
plan() {
    gtrain plan w64.ini w128.ini w256.ini "$@" >out 2>err
}
plan --budget 0.5gpuh --tsv --no-header
is $? 0 "a budget is planned without runs"
like err "no loss is forecast" \
    "without runs there is no law"
# 0.5 h x 3600 s x 1e12 FLOP/s = 6 N D
awk -F '\t' '{ d = 6 * $2 * $3 / 1.8e15 - 1; if (d * d > 1e-6) bad = 1
    d = $3 / ($4 * 1024) - 1; if (d * d > 1e-4) bad = 1
    if ($6 != int($3 / (1000 * 1024))) bad = 1 }
    END { exit bad || NR != 3 }' out
ok $? "tokens, steps and cells follow from the operations" "$(cat out)"

# Runs whose law is known; the exponents are on the grid.
for n in 1e5 3e5 1e6 4e6; do
    for d in 1e7 1e8 1e9; do
        awk -v n=$n -v d=$d 'BEGIN {
            loss = 1.7 + 60 * n ^ -0.35 + 400 * d ^ -0.3
            printf "{\"step\": 1, \"val/loss\": %.9g, \"train/tokens\": %.0f}\n",
                loss, d }' | gtrack log -p is.parameters="$n" "n$n-$d" >out 2>&1
    done
done
plan --budget 0.5gpuh --tsv --no-header
is $? 0 "a budget is planned with runs"
awk -F '\t' '{ d = $6 - (1.7 + 60 * $2 ^ -0.35 + 400 * $3 ^ -0.3)
    if (d * d > 1e-8) bad = 1 }
    END { exit bad || NR != 3 }' out
ok $? "the losses are those of the law" "$(cat out)"
best=$(sort -t "$tab" -k 6,6g out | head -n 1 | cut -f 1)
like err "the lowest loss is that of $best; the law fits 12 runs" \
    "the best model is named"
like err "off by 0.000 for a run" "the law is tested on runs that are left out"
plan --budget 0.0005h --tsv --no-header
small=$(sort -t "$tab" -k 6,6g out | head -n 1 | cut -f 1)
plan --budget 100h --tsv --no-header
large=$(sort -t "$tab" -k 6,6g out | head -n 1 | cut -f 1)
is "$small $large" "w64.ini w256.ini" "more hours are for a larger model"
for bad in gpuh 0h -1h 6.4 6.4x; do
    plan --budget=$bad
    is $? 2 "the budget '$bad' is refused"
done
done_testing
