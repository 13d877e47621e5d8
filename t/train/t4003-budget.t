#!/bin/sh
# gtrain plan --budget: the size and the steps that a number of hours allows.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

for width in 64 128 256; do
    small_ini train.threads= run.system_every= model.layers=4 model.heads=4 \
        "model.width=$width" model.context=256 model.vocab=1000 \
        train.micro_batch=4 schedule.steps=1000 plan.peak_tflops=2 \
        plan.mfu=0.5 >w$width.ini
done
plan() {
    gtrain plan w64.ini w128.ini w256.ini "$@" >out 2>err
}
plan --budget 0.5gpuh --tsv --no-header
is $? 0 "a budget is planned without runs"
like err "the losses follow a published law (arXiv:2404.10102)" \
    "without runs the law is a published one, which is said"
# 0.5 h x 3600 s x 1e12 FLOP/s = D x the operations that perf/mfu counts
for width in 64 128 256; do
    gtrain plan w$width.ini --only training --tsv --no-header |
        awk -F '\t' '$1 == "FLOP a token, of the MFU" { print $2 }'
done >flops
paste flops out >both
awk -F '\t' '{ d = $1 * $4 / 1.8e15 - 1; if (d * d > 1e-6) bad = 1 }
    END { exit bad || NR != 3 }' both
ok $? "the tokens are those whose operations the budget pays for" "$(cat both)"
awk -F '\t' '{ if (d * d > 1e-6) bad = 1
    d = $3 / ($4 * 1024) - 1; if (d * d > 1e-4) bad = 1
    if ($7 != int($3 / (1000 * 1024))) bad = 1 }
    END { exit bad || NR != 3 }' out
ok $? "tokens, steps and cells follow from the operations" "$(cat out)"

plan --budget 20gpuh --tsv --no-header
awk -F '\t' '{ loss = 1.8172 + 482.01 * $2 ^ -0.3478 + 2085.43 * $3 ^ -0.3658
    if ($6 == "" ? loss < log(1000) : (loss - $6) ^ 2 > 1e-8) bad = 1
    none += $6 == "" }
    END { exit bad || NR != 3 || none != 1 }' out
ok $? "the losses are those of the published law, if below that of guessing" \
    "$(cat out)"
plan --budget 0.00001gpuh --tsv --no-header
is "$(cut -f 6 out | sort -u)" "" "no loss is worse than that of guessing"
like err "no model learns more in these hours than to guess" \
    "a budget that is too small is no reason to choose a size"

# the rate of bf16, which train.precision = auto chooses on a GPU
plan --budget 0.5gpuh --device h100 --tsv --no-header
paste flops out | awk -F '\t' '{ d = $1 * $4 / (1800 * 989.4e12 / 2) - 1
    bad += d * d > 1e-6 } END { exit bad || NR != 3 }'
ok $? "the rate is that of the device that is named" "$(cat out)"

# Runs whose law is known; the exponents are on the grid.
for n in 1e5 3e5 1e6 4e6; do
    for d in 1e7 1e8 1e9; do
        awk -v n=$n -v d=$d 'BEGIN {
            loss = 1.7 + 60 * n ^ -0.35 + 400 * d ^ -0.3
            printf "{\"step\": 1, \"val/loss\": %.9g, \"train/tokens\": %.0f}\n",
                loss, d }' | gtrack log -p derived.parameters="$n" "n$n-$d" >out 2>&1
    done
done
plan --budget 0.5gpuh --tsv --no-header
is $? 0 "a budget is planned with runs"
awk -F '\t' '{ d = $6 - (1.7 + 60 * $2 ^ -0.35 + 400 * $3 ^ -0.3)
    if (d * d > 1e-8) bad = 1 }
    END { exit bad || NR != 3 }' out
ok $? "the losses are those of the law" "$(cat out)"
best=$(sort -t "$tab" -k 6,6g out | head -n 1 | cut -f 1)
like err "lowest loss: $best\$" "the best model is named"
like err "the law fits 12 runs of 1e+05 to 4e+06 parameters" \
    "the runs that the law is fitted to are named"
like err "left out of the fit is 0.000" "the law is tested on runs that are left out"
plan --budget 0.005h --tsv --no-header
small=$(awk -F '\t' '$6 != ""' out | sort -t "$tab" -k 6,6g | head -n 1 | cut -f 1)
plan --budget 100h --tsv --no-header
large=$(sort -t "$tab" -k 6,6g out | head -n 1 | cut -f 1)
is "$small $large" "w64.ini w256.ini" "more hours are for a larger model"

# One settings file gives the proportions; its size is chosen.
sizes() {
    gtrain plan w128.ini --budget "$@" --tsv --no-header >out 2>err
}
sizes 0.5gpuh --set model.kv_heads=2 --set model.d_ff=384
is $? 0 "a size is chosen for a budget"
awk -F '\t' '{ d = $7 - (1.7 + 60 * $3 ^ -0.35 + 400 * $4 ^ -0.3)
    if (d * d > 1e-8 || $2 != 32 * $1) bad = 1
    if (NR == 3) least = $7
    loss[NR] = $7 }
    END { for (i = 1; i <= NR; i++)
              if (loss[i] < least) bad = 1
          exit bad || NR != 5 }' out
ok $? "the row in the middle has the lowest loss, between smaller and larger" \
    "$(cat out)"
words=$(sed -n 's/.*lowest loss: //p' err)
like err "lowest loss: model.layers=.*model.kv_heads=.*model.width=.*model.d_ff=" \
    "the settings of the best size are printed"
# shellcheck disable=SC2046 # words
gtrain plan w128.ini --only parameters $(printf -- '--set %s ' $words) \
    --tsv --no-header >whole 2>>err
test "$(grep -c "$(sed -n '3p' out | cut -f 3)" whole)" -ge 1
ok $? "the settings that are printed have the parameters of the row" \
    "$(cat whole)"
steps=$(sed -n 3p out | cut -f 5)
like err "5 learning rates tried for $((steps / 15)) steps each" \
    "the length of cells is said"
sizes 0.0005h
small=$(sed -n 3p out | cut -f 3)
sizes 100h
large=$(sed -n 3p out | cut -f 3)
test "$small" -lt "$large"
ok $? "more hours are for more parameters" "$small $large"
sizes 0.5gpuh --set schedule.steps=0
is "$(cut -f 8 out | sort -u)" "" "without a length no cells are counted"
for bad in gpuh 0h -1h 6.4 6.4x; do
    plan --budget=$bad
    is $? 2 "the budget '$bad' is refused"
done
done_testing
