#!/bin/sh
# Windows of attention: what plan counts, what resumes, what is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
rhythm 3000 >data.bin
small_ini model.layers=3 model.vocab=64 data.train=data.bin train.batch=4 \
    train.micro_batch=1 schedule.steps=6 schedule.warmup=1 eval.every=0 \
    checkpoint.every=3 train.deterministic=yes >tiny.ini
flops() {
    gtrain plan -c tiny.ini --set train.batch=4 --tsv "$@" 2>err |
        awk -F'\t' '/^FLOP a token, of the MFU/ { print $2 }'
}
short="--set model.window=5 --set model.window_pattern=SL"

# 12 x width x keys, of which 16 become 5 (2 - 5 / 16), in the first of 3 layers
echo "$(flops) $(flops $short) $(flops --set model.window=5) $(flops \
    --set model.window=16)" >counts
ok "$(awk '{ print ($1 - $2 == 1452 && $1 - $3 == 2 * 1452 && $1 == $4) ? 0 : 1
    }' counts)" "plan counts the keys of each layer's window" "$(cat counts)"

losses() { cat "$1"/*/*/metrics/train/loss | awk '{ v[$3] = $2 }
    END { for (s in v) print s, v[s] }' | sort -n; }
gtrain -q -c tiny.ini $short --root whole >out 2>&1 &&
    gtrain -q -c tiny.ini $short --root parts --set train.stop_at=4 \
        --ranks 2 >out 2>&1 &&
    gtrain -q -c tiny.ini $short --root parts --resume=auto \
        --ranks 4 >out 2>&1
losses whole >a && losses parts >b && cmp a b && test "$(wc -l <a)" -eq 6
ok $? "4 ranks continue what 2 began with a window, with the bits of one" \
    "$(cat out)"
gtrain -q -c tiny.ini --root full >out 2>&1 && losses full >b && ! cmp -s a b
ok $? "a window changes the loss"

gtrain -q -c tiny.ini $short --set model.window_pattern=SML --root bad \
    >out 2>&1
is $? 2 "a pattern with other letters is refused"
like out "model.window_pattern.*letters S and L" "the message says what is expected"
gtrain export -q parts/*/*/artifacts/checkpoints/*6 --format gguf -o x.gguf \
    >out 2>&1
is $? 2 "a model with windows is not exported as GGUF"
like out "softcap, window" "the message names the window"
done_testing
