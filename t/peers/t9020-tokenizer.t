#!/bin/sh
# Ids and files beside those of tokenizers and tiktoken, if pip has put them
# where $GT_PYTHON (python3) finds them.
top=${top_srcdir:-..}
data=${GT_TESTDATA:-$top/../shared/data}
python=${GT_PYTHON:-python3}
"$python" -c 'import tokenizers' 2>/dev/null ||
    "$python" -c 'import tiktoken' 2>/dev/null || {
    echo "1..0 # SKIP $python has neither tokenizers nor tiktoken"
    exit 0
}
gpt2=$data/gpt2
test -f "$gpt2/vocab.bpe" || gpt2=
TOKENIZERS_PARALLELISM=false exec "$python" "$top/t/peers/tokenizer.py" \
    "$(command -v gdata)" "$gpt2" gpt2 cl100k llama3 o200k
