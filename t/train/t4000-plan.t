#!/bin/sh
# gtrain plan counts what is known from elsewhere, to the last digit.
top=${top_srcdir:-..}
n=0
is() {          # is NAME WANT GOT
    n=$((n + 1))
    if test "$2" = "$3"; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        echo "# want $2, got $3"
    fi
}
value() {       # value CONF PART ROW COLUMN [OPTION]...
    conf=$1 part=$2 row=$3 column=$4
    shift 4
    gtrain plan "$top/conf/$conf.ini" --only "$part" --tsv --no-header "$@" |
        awk -F'\t' -v row="$row" -v column="$column" \
            '$1 == row { print $column }'
}
is "30M parameters" 29995520 "$(value c4-30M parameters all 3)"
is "20 tokens for each" 599910400 \
    "$(value c4-30M training 'tokens for 20 a parameter' 2)"
is "their steps" 4576 "$(value c4-30M training steps 2)"
is "29M parameters" 28946944 "$(value c4-29M parameters all 3)"
is "steps on one GPU" 8833 "$(value c4-29M training steps 2)"
is "steps on two" 4416 "$(value c4-29M training steps 2 --ranks 2 \
    --set train.tokens_per_step=131072)"
is "GPT-2's parameters, padded" 124475904 \
    "$(value gpt2-124M parameters all 3)"
is "GPT-2's parameters" 124439808 \
    "$(value gpt2-124M parameters all 3 --set model.vocab_multiple=1)"
is "the tensors that decay" 50 \
    "$(value gpt2-124M training 'tensors with decay' 2)"
is "and those that do not" 98 \
    "$(value gpt2-124M training 'tensors without' 2)"
is "375M tokens of warm-up" 715 "$(value gpt2-124M training 'warm-up steps' 2 \
    --set 'schedule.warmup=375M tokens')"
is "10B tokens of training" 19073 "$(value gpt2-124M training steps 2 \
    --set schedule.steps=0 --set schedule.tokens=10B)"
is "19,073 steps of 0.33 s" 1.748 "$(value gpt2-124M training \
    'hours at this step time' 2 --step-time 330ms | cut -c1-5)"
is "the epochs of a long run" 8.192 \
    "$(value gpt-300M training epochs 2 | cut -c1-5)"
is "1% of 4,400" 44 "$(value c4-30M training 'warm-up steps' 2 \
    --set schedule.chinchilla=0 --set schedule.steps=4400)"
is "accumulation for 524,288 tokens, 8 ranks of 64" 1 \
    "$(value gpt2-124M training 'micro-batches of a step, each rank' 2 \
       --ranks 8)"
# tokens that no whole number of micro-batches makes are refused, with advice
out=$(gtrain plan "$top/conf/gpt2-124M.ini" --ranks 9 2>&1)
is "9 ranks are refused" 2 $?
is "with the nearest that go" 1 \
    "$(echo "$out" | grep -c '589824')"
for wrong in --mfu=0 --set=plan.hardware=zzz --set=run.tags=zzz; do
    out=$(gtrain plan "$top/conf/gpt2-124M.ini" "$wrong" 2>&1)
    is "${wrong##*=set=} is refused" 2 $?
    is "before anything is printed, in one line" gtrain: \
        "$(echo "$out" | cut -d' ' -f1)"
done
gtrain plan "$top/conf/gpt2-124M.ini" --only nonsense >/dev/null 2>&1
is "an unknown part is refused" 2 $?

# every settings file of ours plans
for conf in "$top"/conf/*.ini; do
    grep -q '^\[sweep\]' "$conf" && continue
    gtrain plan "$conf" --set model.vocab=50257 >/dev/null 2>&1
    is "${conf##*/} plans" 0 $?
done
echo "1..$n"
