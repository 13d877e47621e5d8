#!/bin/sh
# gdata with a tokenizer such as Llama 2's, which encodes a space before a text.
. "$(dirname "$0")/../lib/tap.sh"

# the tokenizer of a line of the known ones that has no tokens of bytes
sed -n '/"name":"unknown characters, each"/s/.*"tokenizer":\(.*\),"rows":.*/\1/p' \
    "$top/t/reference/sentencepiece.json" >tokenizer.json
test -s tokenizer.json
is $? 0 "the known tokenizers have one without tokens of bytes"

gdata vocab --tsv tokenizer.json >out
like out "^sentencepiece" "vocab names the kind of the tokenizer"

# one document of plain text that is read in several blocks, and the same as JSON
awk 'BEGIN {
    split("the of and to in a is that for was on as  with", word, " ")
    for (i = 0; i < 300000; i++)
        printf "%s%s", word[i * 7919 % 11 + 1], i % 17 ? " " : "  "
    print "was"
}' | tr -d '\n' >one.txt
{ printf '{"text": "' && cat one.txt && echo '"}'; } >one.jsonl
gdata encode -q -T tokenizer.json --threads 2 --eot last -o text/x one.txt
gdata encode -q -T tokenizer.json --eot last -o json/x one.jsonl
cmp text/x_000000.bin json/x_000000.bin
is $? 0 "the blocks of a document have the ids of the whole"
gdata decode -T tokenizer.json text/x_000000.bin | cmp - one.txt
is $? 0 "decode removes the space before a document, and no other"

cat >docs.jsonl <<'END'
{"text":"the"}
{"text":" the"}
{"text":""}
{"text":"  of the"}
END
gdata encode -q -T tokenizer.json --eot last -o docs/x docs.jsonl
gdata decode -T tokenizer.json --jsonl docs/x_000000.bin >got
cmp got docs.jsonl
is $? 0 "documents are decoded as they were, whatever they begin with"
gdata info -T tokenizer.json --head 2 docs/x_000000.bin >out
like out "	the</s>" "info shows text without the space before it"

gdata vocab tokenizer.json -o written >/dev/null
gdata vocab --tsv tokenizer.json >a
gdata vocab --tsv written >b
cmp a b
is $? 0 "vocab writes a tokenizer.json with the same hash"
gdata vocab tokenizer.json -o other -w tiktoken >out 2>err
is $? 2 "a form that cannot hold the tokenizer is refused with status 2"
like err "a SentencePiece tokenizer cannot be written as tiktoken" \
    "the message names the form"

mkdir own
printf '\n\016\n\005<unk>' >own/tokenizer.model
gdata vocab own >out 2>err
is $? 1 "a folder with SentencePiece's own file only is refused"
like err "use the tokenizer.json of the same model" "the message says what to use"
gdata vocab own/tokenizer.model >out 2>err
like err "use the tokenizer.json of the same model" \
    "the message is the same for the file itself"

done_testing
