#!/bin/sh
# A grid is planned before it is trained, and its cells have names.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 4000 >train.bin
small_ini model.vocab=32 train.micro_batch=2 train.batch=4 data.train=train.bin \
    data.val=train.bin eval.every=4 eval.sequences=2 schedule.steps=4 >base.ini
cat >grid.ini <<'END'
[sweep]
base = base.ini
[grid]
optim.lr = 1e-2, 1e-3
model.width = 16, 32
END
names="grid-lr=1e-2-width=16
grid-lr=1e-2-width=32
grid-lr=1e-3-width=16
grid-lr=1e-3-width=32"

gtrain plan grid.ini --step-time 900 --price 3/h --gpus 2 --tsv --no-header \
    >out 2>err
is "$(cut -f 1 out)" "$names
all" "gtrain plan lists the cells of a grid and their sum"
is "$(tail -n 1 out | cut -f 3-)" \
    "16${tab}1024${tab}4.0${tab}8.0${tab}24.0" \
    "the sum has the steps, tokens, hours, device hours and the price"
gtrain plan grid.ini --set plan.peak_tflops=1 --mfu 0.5 --tsv --no-header >out
gtrain plan base.ini --set plan.peak_tflops=1 --mfu 0.5 --only time --tsv \
    --no-header | grep '^this machine' | cut -f 5 >one
is "$(head -n 1 out | cut -f 5)" "$(cat one)" \
    "the hours of a cell are those of its settings on this machine"
is "$(gtrain plan grid.ini --only training --tsv --no-header --set \
    schedule.steps=7 | awk -F "$tab" '$2 == "steps" { print $3 }' | tr '\n' ' ')" \
    "7 7 7 7 " "other tables have the cells, too, and --set changes them"
test ! -e mlruns -a ! -e sweeps
ok $? "planning a grid starts nothing"
gtrain plan grid.ini --only schedule --points 0 --tsv >rates.tsv
gplot schedule rates.tsv -o rates.json >out 2>err
is "$(tail -n +2 out | cut -d ' ' -f 1)" "$names" \
    "gplot schedule lists the rates of each cell" "$(cat err)"
is "$(grep -o '"label":"grid[^"]*"' rates.json | sort -u)" \
    '"label":"grid-lr=1e-2-width=16 and 1 more"
"label":"grid-lr=1e-3-width=16 and 1 more"' \
    "gplot schedule draws equal rates once"
gtrain plan base.ini grid.ini --only hours --mfu 0.4,0.5 --tsv >out
is "$(head -n 1 out | cut -f 1-3,5)" "cell${tab}parameters${tab}MFU${tab}P100" \
    "the hours of models by hardware are one table"
is "$(wc -l <out)" 11 "the table of hours has a row for each model and MFU"
gtrain plan --presets --tsv --no-header >out
is "$(awk -F "$tab" '$1 == "gpt3-1.3B" { print $2, $4, $7, $8 }' out)" \
    "24 2048 1048576 0.0002" "gtrain plan --presets is one table of sizes"

gtrain sweep grid.ini >out 2>&1
ok $? "the grid is trained" "$(tail -n 3 out)"
is "$(gtrack ls --sweep grid -c name --tsv --no-header | sort)" "$names" \
    "cells are named by their values"
is "$(gtrack show grid --json | sed -n 's/.*"sweep.cells": *"\(.*\)".*/\1/p')" 4 \
    "a sweep has the name of its file"
cat >named.ini <<'END'
[sweep]
base = base.ini
ranks = 2
[run]
name = at {optim.lr} and {train.micro_batch}
[grid]
optim.lr = 1e-2
END
gtrain sweep named.ini >out 2>&1
is "$(gtrack ls --sweep named -c name,derived.ranks --tsv --no-header)" \
    "at 1e-2 and 2${tab}2" "run.name has values, and cells have ranks on a CPU" \
    "$(tail -n 3 out)"
sed 's/{optim.lr}/{optim.rl}/' named.ini >wrong.ini
gtrain plan wrong.ini >out 2>&1
is $? 2 "a key that is not there is refused"
like out "run.name: .*{optim.rl}" "the key that is not there is named"
sed 's/ranks/gpus/' named.ini >gpus.ini
gtrain sweep --dry-run gpus.ini >out 2>&1
is $? 2 "a dry run refuses GPUs on a CPU"
like out "gpus.ini:3: .*sweep.ranks" "the refusal names sweep.ranks"
printf '[grid]\na.x = 1\nb.x = 3, 4\nc.x = 5, 6\n' >other.ini
gtrack sweep -c other.ini -- true >out 2>&1
is "$(gtrack ls --sweep other -c name --tsv --no-header | sort)" \
    "other-b.x=3-c.x=5
other-b.x=3-c.x=6
other-b.x=4-c.x=5
other-b.x=4-c.x=6" \
    "gtrack sweep names its cells by what differs, by whole keys if need be" \
    "$(cat out)"

gtrain -c base.ini --name st --set train.stop_at=2 >out 2>&1
gtrain -c base.ini --name st --set train.stop_at=4 --resume auto >out 2>&1
unlike out "keeps its first value\|warning" \
    "a run whose end is moved resumes without a warning"
is "$(gtrack show st --json | grep -c '"train.stop_at"') $(gtrack ls st -c steps --tsv \
    --no-header)" "0 4" "the step where a run stopped is no parameter"
gtrain -c base.ini --name kept --set checkpoint.every=2 >out 2>&1
gtrack artifacts kept >out 2>err
like out "checkpoints/best -> step-0000000" \
    "the list of artifacts says which checkpoint is the best"

# files that extend others
mkdir -p sub/of
printf '[sweep]\nbase = ../base.ini\n[grid]\noptim.lr = 1e-2\nmodel.width = 16, 32\n' \
    >sub/grid.ini
printf 'extends = ../grid.ini\n[grid]\noptim.lr = 2e-2, 3e-2\n' >sub/of/lr.ini
gtrain plan sub/of/lr.ini --tsv --no-header >out 2>err
is "$(cut -f 1 out | tr '\n' ' ')" "lr-lr=2e-2-width=16 lr-lr=2e-2-width=32 \
lr-lr=3e-2-width=16 lr-lr=3e-2-width=32 all " \
    "a sweep's file replaces an axis of one that it extends" "$(cat err)"
printf 'extends = ../base.ini\n[run]\nname = extended\n[optim]\nlr = 2e-3\n' >sub/run.ini
printf '[sweep]\nbase = sub/run.ini\n[grid]\noptim.decay = 0\n' >over.ini
gtrain sweep over.ini >out 2>&1
is "$? $(gtrack ls --sweep over -c name,optim.lr,schedule.steps --tsv --no-header)" \
    "0 extended-decay=0${tab}0.002${tab}4" "the base of a sweep may extend files" \
    "$(tail -n 3 out)"
gtrain --config sub/run.ini --set checkpoint.every=2 --set train.stop_at=2 >out 2>&1
rm sub/run.ini
gtrain --resume extended --set train.stop_at=4 >out 2>&1
is "$? $(gtrack ls extended -c optim.lr,steps --tsv --no-header)" "0 0.002${tab}4" \
    "a run resumes without the file that it began with" "$(cat out)"
gtrain replay extended >out 2>&1
like out "certified" "a run is computed again without the file that it began with"
stored=$(gtrack where extended)/artifacts/checkpoints/best
{ echo "extends = $dir/base.ini"; cat "$stored/config.ini"; } >new
cp -f new "$stored/config.ini"
resum "$stored"
gtrain sample "$stored" >out 2>&1
like out "unknown setting extends" "the settings of a checkpoint extend no file"

printf '[sweep]\nbase = base.ini\nsampler = tpe\nsamples = 12\n[random]
optim.lr = loguniform(1e-4, 1e-1)\nmodel.layers = integer(1, 2)\n' >tpe.ini
gtrain plan tpe.ini --tsv --no-header >out 2>err
is "$? $(wc -l <out)" "0 13" "plan counts the cells whose values results will choose"
gtrain sweep tpe.ini --tsv >out 2>err
is "$? $(grep -c FINISHED out) $(ls sweeps/tpe/draws | wc -l)" "0 12 2" \
    "gtrain trains cells whose values results have chosen" "$(cat err)"
like err "12 of 12 cells to run" "the message counts cells that are not chosen yet"

printf '[sweep]\nbase = base.ini\n[grid]\noptim.name = adamw, muon
optim.muon_lr = 0.01, 0.02 if optim.name = muon\n' >if.ini
gtrain plan if.ini --tsv --no-header >out 2>err
is "$(cut -f 1 out | tr '\n' ' ')" \
    "if-name=adamw if-name=muon-muon_lr=0.01 if-name=muon-muon_lr=0.02 all " \
    "a cell has no setting of an axis that depends on another value"
done_testing
