#!/bin/sh
# Each settings file of ours trains a step, its model made smaller.
top=${top_srcdir:-..}
n=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
awk 'BEGIN { for (i = 0; i < 3000; i++)
    printf "%c%c", (i * i + int(i / 7)) % 31 + 1, 0 }' |
    LC_ALL=C tr '\001-\037' '\000-\036' >data.bin
for conf in "$top"/conf/*.ini; do
    grep -q '^\[sweep\]' "$conf" && continue
    n=$((n + 1))
    if gtrain --config "$conf" --root "$dir/runs" --set model.layers=1 \
        --set model.context=32 --set model.vocab=500 --set data.tokenizer= \
        --set data.train=data.bin --set data.val=data.bin \
        --set train.device=cpu --set train.threads=1 \
        --set train.micro_batch=1 --set train.batch=2 \
        --set train.tokens_per_step=0 --set train.stop_at=1 \
        --set eval.sequences=2 --set eval.hellaswag_every=0 \
        --set sample.every=0 --set checkpoint.last=no \
        --set checkpoint.every=0 --set checkpoint.keep_best=no \
        >out 2>&1 && grep -q 'step 1' out; then
        echo "ok $n - ${conf##*/} trains a step"
    else
        echo "not ok $n - ${conf##*/} trains a step"
        sed 's/^/# /' out
    fi
done
echo "1..$n"
