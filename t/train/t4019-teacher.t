#!/bin/sh
# Learning from a teacher: gtrain eval --top-logits, and train.teacher.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
documents() { # FIRST LAST
    awk -v i="$1" -v end="$2" 'BEGIN { for (; i <= end; i++) {
        printf "{\"text\": \""
        for (k = 0; k < 40 + i * 7 % 30; k++) printf "%c", 97 + (k * k + i) % 26
        print "\"}" } }'
}
documents 1 60 >text.jsonl
documents 70 90 >more.jsonl
{
    gdata bpe --vocab 270 -o tok text.jsonl &&
        gdata encode --tokenizer tok -o train text.jsonl &&
        gdata encode --tokenizer tok -o more more.jsonl
} >out 2>&1 || { cat out; skip_all "gdata failed"; }
small_ini data.tokenizer=tok data.train=train_000000.bin data.val=more_000000.bin \
    train.micro_batch=1 train.batch=4 schedule.steps=8 eval.every=4 \
    sample.every=0 checkpoint.every=4 checkpoint.keep_last=9 optim.lr=1e-2 \
    train.deterministic=yes >tiny.ini
train() { gtrain --config tiny.ini -q "$@" >out 2>&1; }
taught() { train --set train.teacher=t.logits "$@"; }
weights() {
    sha256sum <"$(gtrack where "$1")/artifacts/checkpoints/step-${2:-00000008}/model.safetensors"
}
refused() { # STATUS MESSAGE NAME OPTION...
    _status=$1 _message=$2 _name=$3
    shift 3
    train -n refused "$@"
    is "$? $(grep -cF -e "$_message" out)" "$_status 1" "$_name"
}

train -n teacher --set schedule.steps=40
gtrain eval teacher --data train_000000.bin --top-logits 8 -o t.logits --json >out 2>err
is "$? $(sed -n 's/.*"tokens": *\([0-9]*\).*/\1/p' out)" \
    "0 $(($(gdata info train_000000.bin --json | sed -n 's/.*"tokens": *\([0-9]*\).*/\1/p') - 1))" \
    "every token but the last of a text gets a row"
is "$(wc -c <t.logits | tr -d ' ')" \
    "$((136 + 36 * $(sed -n 's/.*"tokens": *\([0-9]*\).*/\1/p' out)))" \
    "a row has a word for its token and one for each id"
gtrain eval teacher --data train_000000.bin --stride 16 --json >eval 2>err
loss() { sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p' "$1"; }
test "$(echo "$(loss out) $(loss eval)" | awk '{ print NF == 2 &&
    ($1 - $2) ^ 2 < 1e-8 }')" = 1
ok $? "the loss of the rows is that of gtrain eval"

train -n plain && taught -n taught
is "$?" 0 "training with a teacher"
test "$(weights taught)" != "$(weights plain)"
ok $? "a teacher changes what is learnt"
taught -n unheard --set train.teacher_weight=0
is "$?$(weights unheard)" "0$(weights plain)" "a teacher without weight changes nothing"
taught -n parts --set train.stop_at=4 && taught --resume parts
is "$?$(weights parts)" "0$(weights taught)" "a resumed training has the same bits"
taught -n two --ranks 2
is "$?" 0 "two ranks train with a teacher"
is "$(weights two)" "$(weights taught)" "two ranks have the bits of one"
gtrain replay taught >out 2>&1
ok $? "gtrain replay certifies a run with a teacher"

is "$(gtrain plan --config tiny.ini --only memory --set train.teacher=t.logits \
    --tsv --no-header | cut -f 6)" \
    "$(cat "$(gtrack where taught)/params/derived.bytes.inputs")" \
    "gtrain plan counts the memory for a teacher"
gtrain plan --config tiny.ini --only memory --set train.teacher=none >out 2>&1
is "$? $(grep -c 'not known: .*cannot read none' out)" "0 1" \
    "gtrain plan does without the file of a teacher"
gtrain plan --config tiny.ini --set train.teacher=train_000000.bin >out 2>&1
is "$? $(grep -c 'is not a whole file of' out)" "1 1" \
    "gtrain plan refuses another file"

# every id, the windows of the teacher: the student is the teacher
gtrain eval teacher --data train_000000.bin --top-logits 270 -o all.logits >out 2>&1 &&
    train -n same --set train.teacher=all.logits --set train.teacher_weight=1 \
        --set train.from=teacher --set data.order=sequential
is "$? $(gtrack metrics same train/loss --tsv --no-header |
    awk '$1 == 1 { print $2 < 1e-5 }')" "0 1" "a model does not differ from itself"
for order in sequential random documents bestfit whole; do
    taught -n "$order" --set data.order="$order"
    ok $? "rows are found in the order $order"
done
refused 1 "without sources that have names" "a mixture is refused" \
    --set train.teacher=t.logits \
    --set 'data.train=a:0.5:train_000000.bin, b:0.5:more_000000.bin'
refused 1 "t.logits is not a whole file of 'gtrain eval --top-logits'" \
    "a file for other tokens is refused" \
    --set train.teacher=t.logits --set data.train=more_000000.bin
refused 1 "for a vocabulary of 300 ids" \
    "a file for another vocabulary is refused" \
    --set train.teacher=t.logits --set model.vocab=300
refused 1 "more_000000.bin is not a whole file of 'gtrain eval --top-logits'" \
    "another file is refused" --set train.teacher=more_000000.bin
refused 3 "none: No such file or directory" "a file that is missing is an error" \
    --set train.teacher=none
head -c 2000 t.logits >short.logits
refused 1 "short.logits: the file has 1872 bytes for" \
    "a file that was cut is refused" --set train.teacher=short.logits
{
    head -c 136 t.logits
    tail -c +137 t.logits | tr '\000-\377' '\001-\377\000'
} >bad.logits
refused 1 "is damaged, or of another token than that of data.train" \
    "a row that is not of its token is an error" --set train.teacher=bad.logits
taught -n other --set train.stop_at=4 &&
    train --resume other --set train.teacher=all.logits
is "$? $(grep -c 'train.teacher is not what the checkpoint was made with' out)" \
    "1 1" "a run is not resumed with another teacher"
gtrain eval teacher --data train_000000.bin --top-logits 8 >out 2>&1
is "$? $(grep -c 'needs -o' out)" "2 1" "--top-logits without -o is a usage error"

gtrack bundle taught --data -o bundle.tar >out 2>&1 &&
    tar tf bundle.tar | grep -q 't\.logits$'
ok $? "a bundle with data has the file of the teacher"
done_testing
