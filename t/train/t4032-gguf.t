#!/bin/sh
# The tokenizer of an exported GGUF file is the one that llama.cpp needs.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
small_ini model.norm=rmsnorm model.mlp=swiglu model.position=rope \
    model.linear_bias=no data.train=data.bin train.micro_batch=4 \
    schedule.steps=1 >c.ini
rhythm 2000 >data.bin
printf 'the old hen and the lazy fox 123 over %s\n' 1 2 3 4 5 6 7 8 9 >text.txt

train() { gtrain --config c.ini --root "$1" --set data.tokenizer="$2" >out 2>&1; }
export_gguf() {  # export_gguf NAME TOKENIZER
    train "$1" "$2" && gtrain export --root "$1" -f gguf -o "$1.gguf" >out 2>err
}
has() { LC_ALL=C grep -qaF "$2" "$1"; }

while read -r split name; do
    gdata bpe -q -n 300 --split "$split" -o "tok-$split" text.txt >out 2>&1
    export_gguf "$split" "tok-$split" &&
        LC_ALL=C grep -qa "tokenizer.ggml.pre.*$name" "$split.gguf" &&
        has "$split.gguf" tokenizer.ggml.merges
    ok $? "llama.cpp is told to divide text as $split does: $name" "$(tail -c 200 out)"
done <<END
gpt2 gpt-2
cl100k dbrx
llama3 dbrx
o200k gpt-4o
qwen2 qwen2
digits smollm
END

sed 's/"ignore_merges": false/"ignore_merges": true/' tok-llama3/tokenizer.json \
    >whole.json
export_gguf whole whole.json && has whole.gguf llama-bpe
ok $? "with ignore_merges, the pre-tokenizer of Llama 3 is llama-bpe"
sed 's/"ignore_merges": false/"ignore_merges": true/' tok-qwen2/tokenizer.json \
    >other.json
export_gguf other other.json
is $? 1 "ignore_merges with another pre-tokenizer is refused"
like err "ignore_merges only with the pre-tokenizer of Llama 3" \
    "the message says that llama.cpp has no such tokenizer"
printf 'abcdefghijklmnopqrstuvwxyz0123456789' >chars.txt
gdata bpe -q --chars -o chars chars.txt >out 2>&1
export_gguf chars chars
is $? 1 "a tokenizer of characters is refused"
like err "llama.cpp does not read tokenizers of characters" \
    "the message names the kind of tokenizer"

# tokenizers of SentencePiece: byte tokens are not in the file of the known ones
known() {  # known NAME
    sed -n '/"name":"'"$1"'"/s/.*"tokenizer":\(.*\),"rows":.*/\1/p' \
        "$top/t/reference/sentencepiece.json" |
        awk '{ bytes = ""
               for (i = 0; i < 256; i++)
                   bytes = bytes sprintf("\"<0x%02X>\":%d,", i, i + 3)
               if (/"byte_fallback":true/)
                   sub(/"vocab":[{]/, "&" bytes)
               print }'
}
known "Llama 2, added tokens" >added.json
export_gguf added added.json
is $? 1 "an added token that two tokens make is refused"
perl -pe 's/("added_tokens":\[\{.*?\},\{.*?\},\{.*?\}),.*?\],"norm/$1],"norm/' \
    added.json >llama2.json
export_gguf llama2 llama2.json && has llama2.gguf tokenizer.ggml.scores &&
    has llama2.gguf tokenizer.ggml.add_space_prefix &&
    has llama2.gguf '<0x0A>' && ! has llama2.gguf tokenizer.ggml.merges
ok $? "a tokenizer such as Llama 2's is written with scores" "$(tail -c 200 out err)"
python=${GT_PYTHON:-}
if test -n "$python" && "$python" -c 'import gguf, tokenizers' 2>/dev/null; then
    "$python" "$top/t/reference/gguf_tokens.py" llama2.gguf llama2.json \
        >out 2>&1
    ok $? "merging by these scores gives the ids of the tokenizer" "$(tail -c 200 out)"
else
    skip "merging by these scores gives the ids of the tokenizer" \
        "GT_PYTHON has no gguf and tokenizers"
fi
gtrain export --root llama2 -o llama2.hf >out 2>&1 &&
    gdata vocab --tsv llama2.hf >a && gdata vocab --tsv llama2.json >b &&
    cmp a b
ok $? "the export for Hugging Face has the same tokenizer" "$(tail -c 200 out)"
gtrain sample run1 --root llama2 --device cpu -p "the old hen" -t 2 >out 2>err
like out "^the old hen" "a sample begins with its prompt, without a space"
known "Llama 2 with merges over spaces" >some.json
export_gguf some some.json
is $? 1 "a tokenizer that lacks some merges is refused"
like err "has merges only for some of these pairs" "the message says why"
known "unknown characters, each" >unknown.json
export_gguf unknown unknown.json
is $? 1 "a tokenizer with unknown characters is refused"
like err "llama.cpp needs a tokenizer with byte_fallback" \
    "the message says what llama.cpp needs"
done_testing
