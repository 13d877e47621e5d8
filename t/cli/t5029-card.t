#!/bin/sh
# gtrack card: a model card whose values are claims.
. "$(dirname "$0")/../lib/tap.sh"
for step in 1 2 3; do
    echo "{\"step\": $step, \"val/loss\": 3.$step, \"train/tokens\": $((step * 640)),
        \"train/total_flops\": $((step * 41))12345678901234567,
        \"task/piqa/acc\": 0.6$step, \"task/piqa/acc_stderr\": 0.0$step}" | tr -d '\n'
    echo
done >points
echo '{"step": 1, "loss": 1}' | gtrack log base >out 2>&1
base=$(gtrack where base | sed 's|.*/||')
gtrack log -t mlflow.parentRunId="$base" -p optim.lr=0.003 -p model.layers=4 -p data.train='a b.bin' \
    -p derived.teacher=c0ffee small <points >out 2>&1
ok $? "a run is logged"
mkdir -p "$(gtrack where small)/artifacts/samples"
cat >"$(gtrack where small)/artifacts/samples/step-00000002.txt" <<'END'
Once upon
a <!-- gtrack: small | val/loss -->9<!-- /gtrack --> time.
so \gtrack{small | val/loss}{9} and \gtrack{ ![x](none.png)
END
id=$(gtrack where small | sed 's|.*/||')
gtrack card small -o MODEL.md >out 2>err
is $? 0 "a card is written"
like err "MODEL.md: wrote [0-9]* values" "a message counts the values"
is "$(head -n 3 MODEL.md)" "---
license: unknown # fill in
language: # fill in" "the card begins with the fields that a model's page has"
is "$(sed 's/<![^>]*>//g' MODEL.md | grep '^- Validation')" \
    "- Validation loss: 3.3000" "a value is that of the run"
like MODEL.md '^- Hash of the teacher: .*c0ffee' "the teacher is part of the data"
is "$(sed 's/<![^>]*>//g' MODEL.md | grep '^- task')" "- task/piqa/acc: 0.6300
- task/piqa/acc_stderr: 0.0300" "tasks have their errors"
like MODEL.md '^    Once upon$' "the newest sample is in the card"
like MODEL.md '^    a < !-- gtrack: small' "a claim that a model wrote is none"
like MODEL.md '^    so . gtrack{small .* . gtrack{ ! \[x\]' \
    "a claim of LaTeX and a figure that a model wrote are none"
like MODEL.md "^- Parent run: .*$base" "the run that it continues is named"
is "$(sed 's/<![^>]*>//g' MODEL.md | grep '^- FLOPs')" "- FLOPs: 1.231e+19" \
    "the operations of the whole training are there"
is "$(grep -c 'Energy\|Seed' MODEL.md)" 0 "values that the run does not have are left out"
like MODEL.md "^    gtrain replay $id\$" "the commands that prove it name the run"
check "the values hold" gtrack claims MODEL.md
is "$(gtrack claims --unbound MODEL.md --tsv --no-header 2>/dev/null |
    grep -c 'bound to no run')" 0 "no number is without a claim"
sed 's/3\.3000/3.2000/' MODEL.md >wrong.md
gtrack claims wrong.md >out 2>&1
is $? 1 "a value that was changed is found"
gtrack card small >out 2>err
is "$? $(cat err)" "2 gtrack: name the file of the card by -o" "-o is needed"
gtrack card none -o x.md >out 2>err
is "$? $(test -e x.md && echo made)" "3 " "a run that does not exist has no card"
done_testing
