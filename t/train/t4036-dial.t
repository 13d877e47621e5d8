#!/bin/sh
# [recipe] sets a model, its optimiser and its schedule by one number.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
printf '[recipe]\nname = fast\n[model]\nvocab = 500\n' >fast.ini
# row KEY SET...: setting, value and source, as plan prints them
row() {
    key=$1
    shift
    # shellcheck disable=SC2046 # words
    gtrain plan -c fast.ini $(printf -- '--set %s ' "$@") --only recipe --tsv \
        --no-header 2>err | awk -F'\t' -v k="$key" '$1 == k { print $2, $4 }'
}
is "$(row model.layers recipe.depth=12)" "12 nanochat" "the depth is given"
is "$(row model.layers recipe.size=85M)" "12 nanochat" \
    "the depth follows from the parameters of the blocks"
is "$(row model.width recipe.depth=5)" "384 nanochat" \
    "the width is a multiple of 128"
is "$(row model.heads recipe.depth=12)" "6 nanochat" "there are as many heads of 128 as the width has room for"
is "$(row schedule.tokens recipe.depth=12)" \
    "1698693120 Hoffmann and others 2022" "there are 20 tokens for a parameter of the blocks"
is "$(row train.tokens_per_step recipe.depth=12)" \
    "524288 Bergsma and others 2025; nanochat" "the batch follows from the tokens"
is "$(row model.heads recipe.depth=12 model.width=1024)" "8 nanochat" \
    "what follows from a setting follows from what it is by hand"
is "$(row model.width recipe.depth=12 model.width=1024)" "1024 --set" \
    "plan says what was set by hand"
is "$(row schedule.tokens recipe.depth=12 schedule.steps=10)" \
    "0 another setting" \
    "steps take the place of the recipe's tokens"
is "$(row train.tokens_per_step recipe.depth=12 train.batch=8)" \
    "0 another setting" \
    "a batch takes the place of the recipe's"
gtrain plan -c fast.ini >out 2>&1
is $? 2 "a recipe without a size is refused"
like out "fast.ini:2: recipe.name: requires recipe.depth" "the message says why"
gtrain plan -c fast.ini --set recipe.name=none --set schedule.steps=1 >out 2>&1
! grep -q nanochat out
ok $? "plan prints no table of a recipe that is not used"

# the ladder: six depths, as when each is planned alone
gtrain plan -c fast.ini --set recipe.depth=12 --ladder --device h100 \
    --price 2.5 --tsv --no-header >out 2>err
is "$(cut -f 1 out | tr '\n' ' ')" "2 4 6 8 10 12 all " \
    "a ladder has six depths in equal steps, and their sum" "$(cat err)"
gtrain plan -c fast.ini --set recipe.depth=8 --only cells --device h100 \
    --price 2.5 --tsv --no-header 2>err | head -n 1 | cut -f 2- >alone
awk '$1 == 8' out | cut -f 2- | cmp - alone && test -s alone
ok $? "a model of the ladder is planned as alone" "$(cat alone out)"
is "$(awk -F '\t' '$1 != "all" { h += $5 }
    $1 == "all" { print (h / $5 > 0.999 && h / $5 < 1.001) }' out)" \
    1 "the last row of a ladder has the sum of the hours" "$(cat out)"
is "$(gtrain plan -c fast.ini --set recipe.depth=5 --ladder --only sizes --tsv \
    --no-header | cut -f 1,2 | tr '\n\t' '  ')" "1 1 2 2 3 3 4 4 5 5 " \
    "a ladder to a small depth has every depth"
gtrain plan --set schedule.steps=1 --ladder >out 2>&1
is $? 2 "a ladder without a recipe is refused"
like out "set recipe.name" "the message names recipe.name"

rhythm 3000 >data.bin
small_ini recipe.name=fast recipe.depth=2 model.head_dim=8 model.width=16 \
    model.vocab=64 model.context=16 data.train=data.bin data.order=epoch \
    train.micro_batch=2 train.batch=4 schedule.steps=4 checkpoint.every=2 \
    eval.every=0 >tiny.ini
losses() { cat "$1"/*/*/metrics/train/loss | awk '{ v[$3] = $2 }
    END { for (s in v) print s, v[s] }' | sort -n; }
gtrain -q -c tiny.ini --root whole >out 2>&1 &&
    gtrain -q -c tiny.ini --root parts --set train.stop_at=2 >out 2>&1 &&
    gtrain -q --root parts --resume auto --set train.stop_at=0 >out 2>&1
losses whole >a && losses parts >b && cmp a b && test "$(wc -l <a)" -eq 4
ok $? "a run with a recipe resumes from its checkpoint alone" "$(cat out)"
done_testing
