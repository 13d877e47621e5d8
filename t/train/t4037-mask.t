#!/bin/sh
# model.mask = document: a document is trained on as if it were alone.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

# documents of 8 ids with their end-of-text token, two to a sequence of 16
awk 'BEGIN { for (i = 0; i < 33; i++) {
    text = ""
    for (k = 0; k < 7; k++)
        text = text sprintf("%c", 97 + (i * i + 5 * k * i) % 23)
    printf "{\"text\":\"%s\"}\n", text } }' >text.jsonl
printf 'abc' >three.txt
gdata bpe --vocab 257 -o tok three.txt >out 2>&1 &&
    gdata encode -T tok -o data text.jsonl >out 2>&1
ok $? "the documents are encoded" "$(cat out)"
small_ini model.layers=2 model.norm=rmsnorm model.position=rope \
    data.tokenizer=tok data.train='data_*.bin' data.val='data_*.bin' \
    train.batch=4 train.micro_batch=1 schedule.steps=6 eval.every=6 \
    eval.at_start=yes checkpoint.every=3 train.deterministic=yes >tiny.ini
losses() { cat "$1"/*/*/metrics/"$2"/loss | awk '{ v[$3] = $2 }
    END { for (s in v) print s, v[s] }' | sort -n; }
first() { losses "$1" val | awk '$1 == 0 { print $2 }'; }
train() {
    root=$1
    shift
    gtrain -q -c tiny.ini --root "$root" "$@" >out 2>&1
}

train masked --set model.mask=document && train causal &&
    train alone --set model.context=8 --set train.batch=8 --set train.micro_batch=2
ok $? "models are trained with and without a mask" "$(cat out)"
printf '%s %s\n' "$(first masked)" "$(first alone)" >pair
ok "$(awk '{ d = $1 - $2; print (NF == 2 && d * d < 1e-12) ? 0 : 1 }' pair)" \
    "two documents in a sequence have the losses of each alone" "$(cat pair)"
printf '%s %s\n' "$(first causal)" "$(first alone)" >pair
ok "$(awk '{ d = $1 - $2; print (NF == 2 && d * d > 1e-8) ? 0 : 1 }' pair)" \
    "without the mask their losses are others" "$(cat pair)"

train parts --set model.mask=document --set train.stop_at=4 --ranks 2 &&
    train parts --set model.mask=document --resume=auto --ranks 4
losses masked train >a && losses parts train >b && cmp a b &&
    test "$(wc -l <a)" -eq 6
ok $? "4 ranks continue what 2 began with the bits of one" "$(cat out)"
train again --set model.mask=document --set train.recompute=layer &&
    losses again train >b && cmp a b
ok $? "layers that are computed again have the same mask" "$(cat out)"

train none --set model.mask=document --set data.tokenizer= --set model.vocab=257
is $? 2 "a mask of documents without a tokenizer is refused"
like out "model.mask: .*end-of-text token" "the message says what is missing"
done_testing
