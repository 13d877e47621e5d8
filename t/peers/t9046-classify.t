#!/bin/sh
# gdata classify gives each document the label and the probability that fastText
# gives it.  Part of `make check-peers`; skipped without fasttext.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" ||
    skip_all "make check-peers asks the peers"
"$python" -c 'import fasttext' 2>/dev/null ||
    skip_all "no fasttext in $python; set GT_PYTHON"
peer=$top/t/peers/classify.py

"$python" -B "$peer" models >out 2>err
ok $? "models of each kind are trained"
head -n 1000 docs.jsonl >first.jsonl && tail -n 1000 docs.jsonl >last.jsonl &&
    gdata classify -q --train --dim 20 --buckets 3000 -o trained.bin \
        first.jsonl last.jsonl >out 2>err
ok $? "gdata trains a model, which fastText reads below"
for model in *.bin; do
    case $model in vectors.bin | each.bin) continue ;; esac
    "$python" -B "$peer" labels "$model" docs.jsonl >theirs 2>err &&
        gdata classify -q "$model" docs.jsonl >ours 2>err &&
        "$python" -B "$peer" compare ours theirs >out 2>err
    ok $? "${model%.bin}: $(wc -l <docs.jsonl) documents have the same labels"
    cat out
done
gdata classify quantised.ftz docs.jsonl >out 2>err
is $? 1 "a quantised model is refused"
like err "quantised.ftz: .*quantised" "the message says that it is quantised"
gdata classify vectors.bin docs.jsonl >out 2>err
like err "vectors.bin: only models with labels" \
    "a model without labels is refused"
gdata classify each.bin docs.jsonl >out 2>err
like err "each.bin: only models .* the loss softmax or hs" \
    "a model of independent labels is refused"
done_testing
