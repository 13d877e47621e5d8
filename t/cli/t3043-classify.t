#!/bin/sh
# classify adds the label of both document by a model of fastText, which
# t/peers/classify.py trained, and which gave the documents the same ones.
. "$(dirname "$0")/../lib/tap.sh"
models=$top/t/reference/fasttext

cp "$models/docs.jsonl" docs.jsonl
gdata classify -q --as words "$models/words.bin" docs.jsonl 2>err |
    gdata classify -q --as tree --input jsonl "$models/tree.bin" - 2>>err |
    gdata classify -q --as both --input jsonl "$models/both.bin" - >got 2>>err
cmp "$models/expected.jsonl" got >out 2>&1 && test ! -s err
ok $? "documents have the labels and probabilities that fastText gives them"

# in any number of threads, of any size, from any reader
awk '{ for (i = 0; i < 400; i++) print }' docs.jsonl >many.jsonl
gdata classify -q -j1 -o one.jsonl "$models/tree.bin" many.jsonl 2>err &&
    gdata classify -q -j7 -o seven.jsonl "$models/tree.bin" many.jsonl 2>err &&
    cmp one.jsonl seven.jsonl >out 2>&1
ok $? "seven threads write what one writes, in the order of the input"
gzip -k docs.jsonl
gdata classify -q "$models/words.bin" docs.jsonl >plain 2>err
gdata classify -q "$models/words.bin" docs.jsonl.gz >gz 2>err
cmp plain gz >out 2>&1
ok $? "compressed input has the same labels"
{ awk 'BEGIN { for (i = 0; i < 200000; i++) printf "a%d ", i % 7 }'
  printf '%%'; echo b%; } >parts.txt
gdata classify -q --separator % "$models/words.bin" parts.txt >out 2>err
awk 'BEGIN { printf "{\"text\": \""
    for (i = 0; i < 200000; i++) printf "a%d ", i % 7; print "\"}" }' >whole.jsonl
is "$(sed 's/.*,"label"//;q' out)" \
    "$(gdata classify -q "$models/words.bin" whole.jsonl | sed 's/.*,"label"//')" \
    "a document that is read in parts is classified as a whole"
printf '{"body": "a b c d", "text": 5, "id": 7}\n' >body.jsonl
gdata classify -q --field body --as language "$models/words.bin" body.jsonl \
    >out 2>err
like out '^{"body": "a b c d", "text": 5, "id": 7,"language":"ru","language_score":[01].[0-9]*}$' \
    "other fields are kept, and the new ones named by --as"
gdata classify -q --where 'tree = "ru" and tree_score > 0.5' "$models/words.bin" \
    "$models/expected.jsonl" >out 2>err
is "$(grep -c . out)" "$(grep -c '"tree":"ru","tree_score":\(1\|0\.[5-9]\)' \
    "$models/expected.jsonl")" "--where chooses documents by their labels"

# training: of two kinds of texts, one has more of the first half of the words
texts() {
    awk -v seed="$1" -v share="$2" -v n="$3" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) {
            printf "{\"text\":\""
            for (k = 0; k < 30; k++)
                printf "w%d ", int(100 * rand()) + (rand() < share ? 0 : 60)
            print "\"}"
        }
    }'
}
texts 1 0.7 300 | gzip >good.jsonl.gz
texts 2 0.3 300 >bad.jsonl
set -- --train --dim 8 --buckets 5000 --epochs 20 --rate 0.5
gdata classify -q "$@" -o trained.bin good.jsonl.gz bad.jsonl >out 2>err
is "$? $(cat out err)" "0 " "a model is trained on files of two labels"
for kind in good bad; do
    texts 3 "$(test $kind = good && echo 0.7 || echo 0.3)" 200 |
        gdata classify -q --input jsonl trained.bin - | grep -c "\"label\":\"$kind\""
done >out 2>err
is "$(awk '$1 > 170 { n++ } END { print n }' out)" 2 \
    "the model tells apart 85 of 100 other texts of each" "$(cat out err)"
gdata classify -q "$@" -o again.bin good.jsonl.gz bad.jsonl >out 2>err
cmp trained.bin again.bin >out 2>&1
ok $? "training on the same texts gives the same model"
gdata classify "$@" -o never good.jsonl.gz >out 2>err
is "$? $(test -e never || grep -c 'at least two labels' err)" "2 1" \
    "one label is refused, and nothing written"
gdata classify "$@" good.jsonl.gz bad.jsonl >out 2>err
is "$? $(cat err)" "2 gdata: name the model to write by -o" "a model needs a name"

# wrong arguments
gdata classify >out 2>err
is "$? $(cat err)" "2 gdata: name the model, and the text to read" \
    "the model must be named"
gdata classify "$models/tree.bin" >out 2>err
is "$? $(cat err)" "2 gdata: name the text to read" "the text must be named"
gdata classify none.bin docs.jsonl >out 2>err
is $? 3 "a missing model ends with status 3"

# damaged models: what is wrong with which file, and nothing written
model=$models/words.bin
size=$(wc -c <"$model")
refused() {
    gdata classify -o never bad.bin docs.jsonl >out 2>err
    is "$? $(grep -c . err) $(sed 's/^gdata: //' err)" "1 1 bad.bin: $1" \
        "a model is refused: $1"
    test ! -e never
    ok $? "nothing is written after: $1"
}
# change OFFSET BYTES: the model with other bytes there
change() {
    cp "$model" bad.bin
    printf "$2" | dd of=bad.bin bs=1 seek="$1" conv=notrunc 2>/dev/null
}
: >bad.bin
refused "this is not a model of fastText"
head -c 1000 docs.jsonl >bad.bin
refused "this is not a model of fastText"
header="the header is damaged, incomplete or quantised (.ftz), which is not \
supported"
change 4 '\003'
refused "$header"
change 8 '\000\000\000\000'
refused "$header"
change 28 '\377\377\377\177'
refused "$header"
change 32 '\002'
refused "only models with labels and the loss softmax or hs are supported"
change 36 '\002'
refused "only models with labels and the loss softmax or hs are supported"
change 40 '\000'
refused "$header"
words=$(echo "$header" | sed 's/header/list of words/')
change 64 '\377\377\377\177'
refused "$words"
change 68 '\377\377\377\177'
refused "$words"
change 84 '\000\000\000\000\000\000\000\000'
refused "$words"
head -c 3000 "$model" >bad.bin
refused "$words"
matrix=$(echo "$header" | sed 's/header/matrix/')
head -c $((size - 200)) "$model" >bad.bin
refused "$matrix"
head -c $((size - 1)) "$model" >bad.bin
refused "$matrix"
# the output: 5 rows of 5 numbers after a byte and two sizes
change $((size - 100 - 17)) '\001'
refused "$matrix"
change $((size - 100 - 16)) '\006'
refused "$matrix"
change $((size - 100 - 8)) '\006'
refused "$matrix"
{ cat "$model"; echo more; } >bad.bin
refused "$(echo "$header" | sed 's/header/end of the model/')"
done_testing
