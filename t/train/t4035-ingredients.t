#!/bin/sh
# Parts of recent recipes: what plan counts, what resumes, what is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
rhythm 3000 >data.bin
small_ini model.layers=3 model.heads=4 model.kv_heads=2 model.width=40 \
    model.vocab=64 model.vocab_multiple=64 model.tied=no data.train=data.bin \
    train.batch=4 train.micro_batch=1 schedule.steps=6 schedule.warmup=1 \
    eval.every=0 checkpoint.every=3 train.deterministic=yes >tiny.ini
# counted ROW COLUMN SET...: what plan says there, less what it says without SET
counted() {
    name=$1 column=$2
    shift 2
    for sets in "" "$(printf -- '--set %s ' "$@")"; do
        # shellcheck disable=SC2086 # words
        gtrain plan -c tiny.ini $sets --tsv 2>err |
            awk -F'\t' -v name="$name" -v c="$column" '$1 == name { print $c }'
    done | awk 'NR == 1 { n = $1 } END { print $1 - n }'
}
losses() { cat "$1"/*/*/metrics/train/loss | awk '{ v[$3] = $2 }
    END { for (s in v) print s, v[s] }' | sort -n; }
gtrain -q -c tiny.ini --root without >out 2>&1 && losses without >none
# resumed NAME SET...
resumed() {
    name=$1
    shift
    sets=$(printf -- '--set %s ' "$@")
    # shellcheck disable=SC2086 # words
    gtrain -q -c tiny.ini $sets --root "$name" >out 2>&1 &&
        gtrain -q -c tiny.ini $sets --root "$name-parts" --set train.stop_at=4 \
            --ranks 2 >out 2>&1 &&
        gtrain -q -c tiny.ini $sets --root "$name-parts" --resume=auto \
            --set parallel.mode=fsdp --ranks 4 >out 2>&1
    losses "$name" >a && losses "$name-parts" >b && cmp a b &&
        test "$(wc -l <a)" -eq 6
    ok $? "4 ranks continue what 2 began with the bits of one: $name" "$(cat out)"
    ! cmp -s a none
    ok $? "the losses are others: $name"
}

gtrain plan -c tiny.ini --set model.residual_scale=yes \
    --set model.value_embed=yes --tsv 2>err | awk -F'\t' 'NF == 4 && /%/ {
        if ($1 == "all") { print sum == $3; exit } else sum += $3 }' >sum
is "$(cat sum)" 1 "the parts of the plan add up to all parameters"

# two numbers in each layer, which cost no FLOPs that are counted
is "$(counted all 3 model.residual_scale=yes)" 6 \
    "plan counts the numbers of model.residual_scale"
resumed scaled model.residual_scale=yes "optim.group.1=*.mix.embed,lr=0.5"

# 64 rows of 2 heads of 10, and a gate of 32 x 2, in the first and last layer
is "$(counted all 3 model.value_embed=yes)" $((2 * (64 * 20 + 64))) \
    "plan counts the tables and gates of model.value_embed"
is "$(counted 'FLOP a token, of the MFU' 2 model.value_embed=yes)" \
    $((2 * 6 * 32 * 2)) "plan counts the FLOPs of the gates"
resumed values model.value_embed=yes train.recompute=layer \
    "optim.group.1=*.value_embed.*,lr=3x"

# 4 + 2 x 2 heads of 6 more elements, and 4 of them back
is "$(counted all 3 model.head_dim=16)" $((3 * (12 * 6 * 40 + 48))) \
    "plan counts the parameters of wider heads"
resumed wide model.head_dim=16 model.position=rope model.qk_norm=yes
gtrain plan -c tiny.ini --set model.width=42 >out 2>&1
is $? 2 "a width that the heads do not divide is refused"
like out "model.head_dim" "the message names model.head_dim"
gtrain plan -c tiny.ini --set model.width=42 --set model.head_dim=8 >out 2>&1
is $? 0 "with model.head_dim, any width is accepted" "$(cat out)"

for name in scaled values; do
    gtrain export -q $name/*/*/artifacts/checkpoints/*6 --format gguf \
        -o x.gguf >out 2>&1
    is $? 2 "a model with model.residual_scale or value_embed is no GGUF: $name"
    like out "residual_scale or value_embed" "the message names both: $name"
done
done_testing
