#!/bin/sh
# What differs between runs is the same in every list, figure and report: what
# was swept comes first, where files lie and what follows from other settings is
# no difference, and the run of a whole sweep is not compared with its cells.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

encode_letters data --val 10%
ok $? "a text is encoded"
small_ini data.tokenizer=tok "data.train=data_train_*.bin" \
    "data.val=data_val_*.bin" train.micro_batch=2 train.batch=2 \
    schedule.steps=3 eval.every=3 eval.sequences=2 checkpoint.every=3 >c.ini
cat >grid.ini <<'END'
[sweep]
base = c.ini
[grid]
optim.lr = 0.01, 0.001
model.width = 16, 32
END
gtrain sweep grid.ini >out 2>&1
ok $? "a grid of four cells is trained" "$(cat out)"
best=$(gtrack best val/loss --tsv -q --no-header | cut -f 1)
lr=$(gtrack ls -c lr --tsv --no-header "$best")
width=$(gtrack ls -c width --tsv --no-header "$best")

COLUMNS=80 g ls --aligned
like out "^name  *lr  *width  *min(val/loss)" \
    "a list of 80 columns begins with what was swept and the loss"
like out "no room for" "a list of 80 columns says what it leaves out"
unlike out 'activations\|checkpoint\|folder' \
    "a list shows no folders and nothing that follows from settings"
COLUMNS=80 g best val/loss --aligned
like out "^$best .* $lr  *$width" \
    "the best run is shown with what was swept in 80 columns"
g compare --tsv
is "$(cut -f 1 out | sed -n '4,5p' | paste -s -d ' ')" "optim.lr model.width" \
    "a comparison begins with what was swept"
is "$(grep -c 'checkpoint\|derived\|cells' out) $(awk 'NR == 1 { print NF }' \
    out)" "0 4" "a comparison leaves out the run of the sweep"
gtrack compare --tsv grid "$best" >out
like out "${tab}grid${tab}" "the run of a sweep is compared when it is named"
for form in latex markdown; do
    gtrack ls "--$form" >out
    like out "$best .*$width" "a list in $form has the cells"
    unlike out 'grid *[&|]' \
        "a list in $form leaves out the run of the sweep"
done
gtrack ls --tsv -c name --no-header >out
like out '^grid$' "a list for programs has the run of the sweep"

gplot compare --sweep grid -o compare.json 2>err
like compare.json "lr $lr, width $width" \
    "the legend of a sweep's cells is what was swept"
unlike compare.json 'cells =\|"grid:' \
    "no legend shows the parameters of the run of the sweep"
gplot sweep lr val/loss --sweep grid -o lr.json 2>err
like lr.json '"label":"width 16"' \
    "the curves of a sweep are named by what else was swept, not by folders"
gplot sweep lr,width val/loss --sweep grid -o map.json 2>err
like map.json "The best is marked" "a map has a caption"
unlike map.json "as well" \
    "the caption of a map of all that was swept names nothing else"
gplot metric val/loss --sweep grid -o metric.json >out 2>err
is "$? $(grep -c '^lr .*val/loss' out)" "0 4" \
    "the runs of a figure of a metric may be a sweep"
gplot loss --sweep grids >out 2>err
is "$?" 3 "a sweep that does not exist is reported"
is "$(gplot hours --data | awk -F'\t' '$3 == "compute" && $4 != "nan"' |
    wc -l)" 12 "a figure of hours has one bar for each cell"
if command -v gnuplot >/dev/null; then
    gtrack report --sweep grid -o grid.md >out 2>err
    like grid.md "run is $best: .*optim.lr = $lr, model.width = $width" \
        "the sentence of a report has the values of the sweep"
    is "$(grep '^## ' grid.md | head -n 2)" \
        "## Validation loss by optim.lr and model.width
## Runs compared" "the report of a sweep begins with its figure"
else
    skip "the report of a sweep" "gnuplot is not installed"
fi
gtrack report --sweep grid -o grid.html >out 2>err
ok $? "a page has the runs of a sweep" "$(cat err)"
tr '{' '\n' <grid.html | grep '"name":"checkpoint.folder","differs"' >rows
like rows '"differs":false' "the page does not compare folders"
gtrack report "experiment = 'Default'" -o all.html >out 2>err
tr '{' '\n' <all.html | grep '"differs":true' | cut -d '"' -f 4 >rows
is "$(head -n 2 rows | paste -s -d ' ')" "optim.lr model.width" \
    "the page compares the cells by what was swept"
# Runs whose losses do not compare.
export GTRACK_ROOT="$dir/cautions"
begin() {
    run=$(gtrack run start --name "$@") &&
        gtrack run log "$run" --step 1 val/loss=4 val/bpb=1 &&
        gtrack run end "$run"
}
begin a -p derived.tokenizer=t1 -p derived.data.val=v1 -p model.context=16 &&
    begin b -p derived.tokenizer=t2 -p derived.data.val=v2 -p model.context=16
ok $? "two runs with different tokenizers are made"
for what in "best val/loss" "compare" "compare -c name,val/loss" \
    "ls @best:val/loss"; do
    # shellcheck disable=SC2086
    g $what
    like err "different tokenizers.*val/bpb" "$what warns of tokenizers"
done
g best val/bpb
g compare -c val/bpb
unlike err "tokenizers" "bits per byte are compared without a warning"
for what in "loss" "metric val/loss" "sweep tokenizer val/loss"; do
    # shellcheck disable=SC2086
    gplot $what a b -o caution.json >out 2>&1
    like caution.json "different tokenizers.*val/bpb" \
        "the caption of gplot $what says that tokenizers differ"
done
gplot metric val/bpb a b -o caution.json >out 2>&1
unlike caution.json "tokenizers" "a figure of bits per byte has no such caption"
gplot loss @best:val/loss -o caution.json >out 2>&1
like out "different tokenizers" "gplot warns of @best:val/loss"
g best val/bpb
unlike err "tokenizers" "bits per byte of different tokenizers do compare"
for i in 1 2; do
    for name in same other; do
        tokenizer=t1
        test $name$i != other2 || tokenizer=t2
        echo "step=1 train/loss=$i val/loss=$i val/bpb=$i" |
            gtrack log -p derived.tokenizer=$tokenizer $name$i
    done
done >out 2>&1
for name in same other; do
    for what in ls compare; do
        gtrack $what "$name*" -c name,train/loss,val/loss,val/bpb --markdown >out
        grep -o '\*\*' out | wc -l >>stars
    done
done
is "$(paste -s -d ' ' stars)" "6 6 2 2" \
    "only bits per byte have a best one if tokenizers differ"
gtrack report 'other*' -o bits.md >out 2>&1
like bits.md "^The best run is other1: its lowest val/bpb is 1" \
    "a report names the best run by bits per byte if tokenizers differ"
begin c -p derived.tokenizer=t1 -p derived.data.val=v2 -p model.context=16 &&
    begin d -p derived.tokenizer=t1 -p derived.data.val=v2 -p model.context=32
g best val/loss "name = 'a'" c
like err "different validation data" "best warns of other validation data"
g best val/loss c d
like err "different contexts" "best warns of other contexts"
gtrack report c d -o note.md >out 2>&1
like note.md "^Note that the runs .* different contexts. The best run is c: " \
    "a report says what does not compare before it names the best run"
g best val/loss c
is "$(wc -c <err)" 0 "a run is compared with itself without a warning"
done_testing
