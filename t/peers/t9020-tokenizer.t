#!/bin/sh
# Ids and files beside those of tokenizers and tiktoken, if pip has put them
# where $GT_PYTHON (python3) finds them.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
"$python" -c 'import tokenizers' 2>/dev/null ||
    "$python" -c 'import tiktoken' 2>/dev/null ||
    skip_all "$python has neither tokenizers nor tiktoken"
gpt2=$testdata/gpt2
test -f "$gpt2/vocab.bpe" || gpt2=
TOKENIZERS_PARALLELISM=false "$python" "$top/t/peers/tokenizer.py" \
    "$build/gdata" "$gpt2" gpt2 cl100k llama3 o200k qwen2 digits
