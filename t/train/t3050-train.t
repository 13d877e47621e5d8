#!/bin/sh
# gtrain on what gdata made: documents in another order, data.lock beside them.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
train() {       # train STATUS WORDS [OPTION]...
    want=$1 words=$2
    shift 2
    gtrain --config tiny.ini "$@" >out 2>&1
    test $? -eq "$want" && grep -q "$words" out
}
# documents of a few words, with ends; two tokenizers of equal size
awk 'BEGIN { for (i = 0; i < 400; i++)
    printf "{\"text\": \"%d is what follows %d\"}\n", i + 1, i }' >text.jsonl
{
    gdata bpe -n 300 -o tok text.jsonl &&
        gdata bpe -n 300 -o other --ties cs336 text.jsonl &&
        gdata encode -T tok -o data/x --shard-tokens 1500 text.jsonl
} >out 2>&1
ok $? "two tokenizers and data for one are made"
small_ini model.heads=1 model.width=8 "data.train=data/x_*.bin" \
    data.tokenizer=tok train.micro_batch=2 train.batch=4 schedule.steps=8 \
    schedule.warmup=1 eval.every=0 checkpoint.every=4 >tiny.ini
train 0 . --root a --set data.order=documents; ok $? \
    "training on whole documents ends well"
train 0 . --root b --set data.order=documents --set train.stop_at=4
ok $? "training on documents stops half-way"
train 0 . --root b --set data.order=documents --resume=auto
loss() { cat "$1"/*/*/metrics/train/loss | awk '{ v[$3] = $2 }
    END { for (s in v) print s, v[s] }' | sort -n; }
loss a >a.loss && loss b >b.loss && cmp -s a.loss b.loss && test -s a.loss
ok $? "a resumed run continues with the documents of an unbroken one"
train 0 . --root c && loss c >c.loss && ! cmp -s a.loss c.loss
ok $? "documents give other losses than the windows of an epoch"
train 2 'data.order.*data.tokenizer' --root d --set data.order=documents \
    --set data.tokenizer= --set model.vocab=512
ok $? "order by documents is refused without an end-of-text token"

train 0 'tokens of an epoch are cut off' --root p --set data.order=bestfit \
        --set run.name=p &&
    cat p/*/*/params/derived.data.cut | grep -q '^[1-9]'
ok $? "training says how many tokens the order bestfit cuts off"
train 0 . --root q --set data.order=bestfit --set train.stop_at=5 &&
    train 0 . --root q --set data.order=bestfit --resume=auto --ranks 2
loss p >p.loss && loss q >q.loss && cmp -s p.loss q.loss && test -s p.loss
ok $? "two ranks continue with the windows that one packed"
gtrain batch --root p -n 0 --tsv --no-header p 7 >out 2>&1 &&
    cut -f3,4 out | sort -u | grep -c "${tab}0$" >n && test "$(cat n)" -eq 4
ok $? "gtrain batch shows windows of the order bestfit"
train 2 'data.stride.*leave it out' --root d --set data.order=bestfit \
    --set data.stride=3
ok $? "the order bestfit is refused with a stride"

cp -r tok good && cp other/* tok/
train 1 'encoded with another tokenizer, according to data/x.tokens.lock' --root k
ok $? "the tokens of another tokenizer are refused"
rm -r tok && mv good tok
mkdir pair && cp data/x_000000.bin pair/a_000000.bin &&
    cp data/x_000000.bin pair/b_000000.bin &&
    gdata lock -q -T other -o pair/data.lock pair/a_000000.bin
train 0 'data.lock does not list pair/b' --root o \
    --set "data.train=pair/b_*.bin"
ok $? "a lock says nothing about the tokenizer of shards that it does not list"
gdata lock -q -T tok -o data/data.lock --text text.jsonl data/x_*.bin
train 0 . --root e; ok $? "data that match data.lock are trained on"
cp -r tok good && cp other/* tok/
rm data/x.tokens.lock
train 1 'tok/.*: the .* differs from data/data.lock.* move that file away' --root f
ok $? "a tokenizer that differs from data.lock is refused"
rm -r tok && mv good tok && cp -r data good
last=$(ls data/x_*.bin | tail -n 1)
printf '\001' | dd of="$last" bs=1 seek=1028 conv=notrunc 2>/dev/null
train 1 "$last: the content differs" --root g; ok $? \
    "data whose content differs from data.lock are refused"
cp good/* data/ && head -c 2048 good/x_000000.bin >data/x_000000.bin
train 1 'x_000000.bin' --root h; ok $? \
    "a data file that was cut short is refused"
cp good/* data/ && cp "$last" data/x_999999.bin
train 0 'data.lock does not list data/x_999999.bin' --root i
ok $? "a data file that data.lock does not list is reported"
done_testing
