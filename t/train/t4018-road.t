#!/bin/sh
# The whole road at toy size: text, tokenizer, base model, tasks, conversations,
# finetuning, chat, a card, and the files for other programs, as
# scripts/demo-chat goes.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

for i in 1 2 3; do
    sed 's/[^ -~]//g' "$top"/README.md "$top"/doc/*.md | head -c 60000
    awk 'NF == 2 && /^[A-Z][a-z]* [A-Z][a-z]*$/ {
        print "The capital of " $1 " is " $2 "." }' "$top/scripts/demo-chat"
done >text
mkdir data
gdata bpe -q --vocab 600 -o tok text && gdata encode -q -T tok -o data/text text
ok $? "a text becomes tokens"
small_ini data.tokenizer=tok data.train='data/text*.bin' model.vocab= \
    model.width=96 model.heads=4 model.layers=2 model.context=64 \
    model.norm=rmsnorm model.position=rope model.mlp=swiglu \
    model.linear_bias=no train.batch=8 train.micro_batch=8 schedule.steps=160 \
    optim.lr=3e-3 eval.every=0 sample.every=0 checkpoint.every=0 \
    >quickstart.ini
gtrain -q --config quickstart.ini >log 2>&1
ok $? "a base model is trained" "$(cat log)"
"$top/scripts/demo-chat" "$(dirname "$(command -v gtrain)")" . >out 2>err
ok $? "scripts/demo-chat ends well" "$(tail -n 20 err)"
like out '^20 of 20 answers are right' \
    "the model has learned to answer all of a closed set of questions"
awk '$1 == "capitals" { acc[n++] = $3 }
    END { exit !(n == 2 && acc[1] > acc[0] + 0.2) }' out
ok $? "a task of an INI file shows what it has learned" "$(cat out)"
gtrain export -q @latest --format gguf -o chat.gguf 2>err &&
    grep -aq 'im_start' chat.gguf
ok $? "the exported model has the template of conversations" "$(cat err)"
gtrain replay @latest --steps 1:3 >out 2>err
is $? 0 "replay certifies the finetuning" "$(cat err)"
gtrack card @latest -o MODEL.md >out 2>err
ok $? "the finetuned model gets a card" "$(cat err)"
gtrack claims MODEL.md >out 2>err
is $? 0 "each number of the card is what the runs say" "$(cat out err)"
like MODEL.md '^- Parent run: ' "the card names the base run"
gtrack show @latest >out 2>err
like out run1 "the base run is recorded as where it comes from"
done_testing
