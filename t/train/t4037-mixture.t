#!/bin/sh
# gtrain on a mixture of sources: shares, phases, ends, and what knows of them.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

# source NAME COUNT FIRST: tokens from FIRST on, 20 different ones
source_of() {
    perl -e 'binmode STDOUT; my ($n, $first, $s) = (@ARGV, 7);
        for (1 .. $n) { $s = ($s * 1103515245 + 12345) % 2147483648;
            print pack("S<", $first + ($s >> 16) % 20) }' "$2" "$3" >"$1.bin"
}
source_of web 6000 0
source_of code 3000 20
source_of wiki 1000 40
mix='web:0.6:web.bin, code:0.3:code.bin, wiki:0.1:wiki.bin'
small_ini model.vocab=64 "data.train=$mix" train.micro_batch=1 train.batch=12 \
    train.deterministic=yes schedule.steps=40 model.dropout=0.1 \
    checkpoint.every=10 checkpoint.keep_last=9 >c.ini
train() { gtrain -q --config c.ini "$@" >log 2>&1; }
counts() {      # FOLDER [STEP]: the sequences of each source until then
    sed -n '/"sources"/,/}/s/^  "\([a-z]*\)": \([0-9]*\).*/\1 \2/p' \
        "$(printf %s/step-%08d "$1" "${2:-40}")/state.json" | tr '\n' ' '
}

train --root m --name whole --set checkpoint.folder=whole
ok $? "a mixture is trained on"
is "$(counts whole)" "code 144 web 288 wiki 48 " \
    "each source has its share of the sequences"
is "$(counts whole 10)" "code 36 web 72 wiki 12 " \
    "each source has its share of the first sequences"
awk '{ n = $2 } END { exit n < 0.76 || n > 0.78 }' \
    "$(find m -path '*/train/wiki/epoch')"
ok $? "the epochs of a source are recorded"
is "$(find m -path '*/datasets/*/meta.yaml' -exec sed -n 's/^name: "*\([a-z]*\).*/\1/p' {} + |
    sort | tr '\n' ' ')" "code web wiki " "each source is a dataset of the run"

# The same bits, however the training is spread and cut into parts.
want=$(sums whole 40)
for ranks in 2 3 4; do
    train --ranks $ranks --root m --set checkpoint.folder="r$ranks"
    is "$(sums "r$ranks" 40)" "$want" \
        "$ranks ranks train the bits of one on a mixture"
done
train --root m --name parts --set checkpoint.folder=parts \
    --set train.stop_at=17 &&
    train --root m --name parts --set checkpoint.folder=parts --resume auto
is "$(sums parts 40)" "$want" "a resumed training goes on in the mixture"
train --root m --set checkpoint.folder=micro --set train.micro_batch=4
is "$(counts micro)" "code 144 web 288 wiki 48 " \
    "the shares do not depend on the micro-batch"
gtrain replay whole --root m --steps 3:40 --tsv --no-header >out 2>err
ok $? "a training on a mixture is certified"
like err "certified: 266 numbers and 4 checkpoints are equal" \
    "replay compares all that a mixture gave"

# A source is read in its own order, whatever the others are.
gtrain replay whole --root m --trace operations --steps 1 --tsv --no-header \
    >trace 2>err
grep 'of wiki in sequence' trace | cut -f4-5 | sed 's/of.*sequence [0-9]*//' \
    >wiki.rows
ok "$(test "$(wc -l <wiki.rows)" -gt 0; echo $?)" \
    "a trace names the source of a sequence"
head -c 9000 /dev/urandom | od -An -tx1 >text.txt
gdata bpe --vocab 300 -o tok text.txt >log 2>&1
gdata encode -q -T tok --format raw --separator 0 -o texts text.txt >log 2>&1
gdata encode -q -T tok --format raw --separator 7 -o others text.txt >log 2>&1
ids() {         # RUN: the hashes of the ids of texts, in their order
    gtrain replay "$1" --root "$order" --trace operations --steps 1:9 \
        --tsv --no-header 2>err | grep 'of texts in sequence' | cut -f5
}
for order in sequential random epoch documents bestfit whole; do
    set -- --set data.order=$order --set data.tokenizer=tok \
        --set model.vocab=300
    train "$@" --root "$order" --name mixed --set train.batch=2 \
        --set 'data.train=others:0.5:others.bin, texts:0.5:texts.bin'
    train "$@" --root "$order" --name alone --set train.batch=1 \
        --set 'data.train=texts:texts.bin'
    ids mixed >mixed.ids
    ids alone >alone.ids
    ok "$(test -s alone.ids && cmp -s mixed.ids alone.ids; echo $?)" \
        "a source is read in the order $order that it has alone"
done
rm ./*.lock texts.bin others.bin

# A source without a name is read as ever.
train --root one --set data.train=web.bin --set data.order=sequential \
    --set checkpoint.folder=unnamed &&
    train --root one --set data.train=web:web.bin \
        --set data.order=sequential --set checkpoint.folder=named
is "$(sums unnamed 40)" "$(sums named 40)" \
    "one source with a name gives the windows of its files"
is "$(grep -c '"sources"' unnamed/step-00000040/state.json)" 0 \
    "without names, a checkpoint counts no sources"

# Shares change at a step.
phases='web:9:web.bin until=30, code:1:code.bin, wiki:3:wiki.bin from=75%'
train --root p --set "data.train=$phases" --set checkpoint.folder=p
is "$(counts p 30)" "code 36 web 324 wiki 0 " \
    "before it has a share, a source is not read"
is "$(counts p)" "code 66 web 324 wiki 90 " \
    "shares change at a step, and at a part of all steps"
train --root p --set checkpoint.folder=twice \
    --set "data.train=web:9:web.bin, code:1:code.bin, wiki:1:wiki.bin from=20, \
web:1 from=20 until=30"
is "$(counts twice)" "code 45 web 415 wiki 20 " \
    "a source may have one share beside another"

# Steps to come may get other shares, but not those that were trained.
train --root later --name r --set checkpoint.folder=later \
    --set train.stop_at=20
train --root later --name r --resume auto --set checkpoint.folder=later --set \
    "data.train=web:6:web.bin until=20, code:3:code.bin, wiki:1:wiki.bin, \
wiki:6 from=20"
ok $? "a training goes on with other shares"
is "$(counts later)" "code 144 web 144 wiki 192 " \
    "the others begin where they should"
cp -r later before
rm -r later/step-00000030 later/step-00000040
train --root later --name s --resume later --set checkpoint.folder=x \
    --set 'data.train=web:6:web.bin, code:1:code.bin, wiki:3:wiki.bin'
is $? 1 "other shares in steps that were trained are refused"
like log "training has read 72 sequences of code, but by data.train it would \
be 24; change shares from step 20 on, by from= and until=" \
    "the refusal says how to change shares"
train --root later --name t --resume later --set checkpoint.folder=x \
    --set "$(echo "data.train=$mix" | sed 's/wiki.bin/web.bin/')"
like log "data.train is not what the checkpoint was made with" \
    "other files of a source are refused"

# The end of a source.
train --root e --set checkpoint.folder=e --set \
    'data.train=web:0.6:web.bin, code:0.3:code.bin, wiki:0.1:wiki.bin epochs=1' \
    --set schedule.steps=60
is "$(counts e 60)" "code 219 web 439 wiki 62 " \
    "the others share what a source leaves that was read once"
train --root e --name stops --set checkpoint.folder=stops --set \
    'data.train=web:0.6:web.bin, code:0.3:code.bin, wiki:0.1:wiki.bin epochs=1' \
    --set schedule.steps=60 --set data.exhausted=stop
ok $? "a training may end with its first source"
like log "data.train end after step 51 of 60, and training stops there" \
    "gtrain says at which step the sources end"
is "$(counts stops 51)" "code 183 web 368 wiki 61 " \
    "the last step before the end is trained"
gtrain replay stops --root e --tsv --no-header >out 2>err
ok $? "a training that ended with its source is certified"
train --root e --set checkpoint.folder=both --set \
    'data.train=web:1:web.bin epochs=1, wiki:1:wiki.bin epochs=2' \
    --set schedule.steps=60
is "$(counts both 41)" "web 368 wiki 124 " \
    "a training ends when all sources have"

refused() {     # NAME PATTERN DATA: an error in data.train
    train --root bad --set "data.train=$3"
    is $? 2 "$1 is refused"
    like log "$2" "the error names $1"
}
refused "a share of nothing" "data.train: web: the share expects" web:0:web.bin
refused "a source with the name of a metric" \
    "data.train: loss is the name of a metric" loss:1:web.bin
refused "a word that is none" "data.train: web: expected from=STEP" \
    "web:1:web.bin form=3"
train --root bad --set data.exhausted=stop
is $? 2 "stopping at the end of a source without an end is refused"
like log "data.exhausted = stop requires a source with epochs=N" \
    "the error says what is missing"
train --root bad --set 'data.train=web:1:web.bin, gone:1:gone.bin'
is $? 3 "a source without files is refused"
like log "data.train: gone: no shard matches gone.bin" "the source is named"
train --root bad --set 'data.val=web:1:web.bin'
is $? 2 "a share of validation data is refused"
like log "data.val: web: each source is validated on by itself" \
    "the error says how to write the sources"

# A data.lock knows the sources.
gdata lock --source "$mix" >log 2>&1
is "$(cut -d' ' -f1,4 data.lock | tail -n 3 | tr '\n' ' ')" \
    "tokens:code code.bin tokens:web web.bin tokens:wiki wiki.bin " \
    "gdata lock takes the sources of data.train"
gdata verify data.lock --tsv --no-header >out 2>err
is "$(cut -f2,3 out | tr '\t\n' '  ')" \
    "tokens:code same tokens:web same tokens:wiki same " \
    "gdata verify shows the sources"
train --root l
ok $? "a mixture that a data.lock lists is trained on"
train --root l --set 'data.train=web:0.6:web.bin, code:0.4:wiki.bin'
is $? 1 "shards of another source are refused"
like log "wiki.bin is of the source wiki, not code, according to ./data.lock" \
    "the shard and both sources are named"
head -c 2 /dev/zero >>wiki.bin
train --root l
like log "wiki.bin: the size differs from ./data.lock" \
    "a changed shard of any source is found"
truncate -s 2000 wiki.bin
sed 's/^tokens:code/text:code/' data.lock >bad.lock
gdata verify bad.lock >out 2>err
is $? 1 "only shards have sources"
rm ./*.lock

# Validation by source.
train --root v --name val --set data.val='wiki:wiki.bin, code:code.bin' \
    --set eval.every=20 --set checkpoint.folder=v
value() { awk '{ v = $2 } END { print v }' "$(find v -path "*/metrics/$1")"; }
echo "$(value val/loss) $(value val/wiki/loss) $(value val/code/loss)" |
    awk '{ d = $1 - (62 * $2 + 187 * $3) / 249 }
        END { exit NF != 3 || d * d > 1e-12 }'
ok $? "the validation loss is the mean over the tokens of all sources"
gtrain eval v --data wiki:wiki.bin --tsv --no-header >out 2>err
is "$(head -n 1 out | cut -f2)" "$(value val/wiki/loss)" "each source has its own loss"
gtrain eval v --data 'wiki:wiki.bin, code:code.bin' --tsv --no-header >out 2>err
is "$(cut -f1,2 out | tr '\t\n' '  ')" "wiki $(value val/wiki/loss) \
code $(value val/code/loss) all $(value val/loss) " \
    "an evaluation has a row for each source"
gtrain replay val --root v --tsv --no-header >out 2>err
ok $? "validation by source is certified"
unlike err "not computed again" "replay computes all metrics of a mixture"
sed -i '/ 40$/s/^\([0-9]*\) [^ ]*/\1 1.5/' "$(find v -path '*/val/code/loss')"
gtrain replay val --root v --tsv --no-header >out 2>err
like err "step 40: val/code/loss is .*, but the run recorded 1.5" \
    "the changed loss of a source is found"

gtrain rehearse c.ini --scene missing-shard --tsv --no-header >out 2>err
like out "missing-shard${tab}passed${tab}training refused to resume" \
    "a mixture without a shard is rehearsed"
gtrack bundle --root m whole --data -o whole.tar >out 2>err
is "$(tar tf whole.tar | sed -n 's/.*files\/\(.*\.bin\)/\1/p' | sort |
    tr '\n' ' ')" "code.bin web.bin wiki.bin " \
    "a bundle has the token files of all sources"
gtrain batch whole 3 --root m -n 0 --tsv >out 2>err
is "$(head -n 1 out | tr '\t' ' ')" "loss tokens sequence position source text" \
    "gtrain batch names the sources"
is "$(cut -f5 out | sort | uniq -c | tr -s ' \n' ' ')" \
    " 4 code 1 source 7 web 1 wiki " "each sequence of a step has its source"
done_testing
