#!/bin/sh
# Ids and text of tokenizers such as Llama 2's, beside those of tokenizers, if
# pip has put it where $GT_PYTHON (python3) finds it.  $TEXTS is the number of
# random texts for each tokenizer.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
"$python" -c 'import tokenizers' 2>/dev/null ||
    skip_all "$python has no tokenizers"
TOKENIZERS_PARALLELISM=false "$python" "$top/t/peers/sentencepiece.py" \
    "$build/gdata" "${TEXTS:-3000}"
