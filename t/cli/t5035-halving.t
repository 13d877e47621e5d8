#!/bin/sh
# gtrack sweep as a search: groups of seeds are kept or dropped as a whole,
# values are chosen by results, axes may depend on others, cells may be added, and
# several processes share a sweep.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
unset GTRACK_RESUME

make_train_sh
# column NAME: the values of a column of the table in out
column() {
    awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
        NR > 1 { print $c }' out
}
steps() { column step | tr '\n' ' '; }
halving="--set sweep.method=halving --set sweep.rungs=2 --set sweep.steps=6"

# Seed 2 of b has the lowest value, but a has the lowest mean.
cat >value.sh <<'END'
#!/bin/sh
case $1$2 in a?) v=2 ;; b1) v=4 ;; b2) v=1 ;; *) v=9 ;; esac
exec ./train.sh $v "$3"
END
chmod +x value.sh
# shellcheck disable=SC2086 # words
gtrack sweep -o whole $halving --seeds 2 --grid x=a,b,c --tsv \
    -- ./value.sh '{x}' '{seed}' '{sweep.steps}' >out 2>err
is "$? $(steps)" "0 6 6 2 2 2 2 " "seeds continue together, by the mean of their group"
like err "rung 1 of 2 is complete: 1 of 3 groups of seeds continue" \
    "the message counts groups of seeds"
gtrack sweep report -o whole --seeds 2 --grid x=a,b,c --by x --tsv >out 2>err
like err "not at equal steps: the cells have 2 to 6 steps" \
    "report says that cells of different lengths stand side by side"

# A curve that is higher by OFFSET, with noise of its own.
cat >curve.sh <<'END'
#!/bin/sh
# curve.sh OFFSET SEED STEPS
awk -v off="$1" -v x="$2" -v n="$3" 'BEGIN {
    x = x * 7919 + off * 1e7 + 17
    for (i = 1; i <= n; i++) {
        x = x * 16807 % 2147483647
        printf "step=%d val/loss=%.6f\n", i, off + x / 2147483647
    }
}'
END
chmod +x curve.sh
drop="--set sweep.method=halving --set sweep.rungs=2 --set sweep.steps=200 --set sweep.drop=0.05 --set sweep.eta=2"
# shellcheck disable=SC2086
gtrack sweep -o equal $drop --seeds 8 --tsv -- gtrack exec -- ./curve.sh 0 '{seed}' '{sweep.steps}' >out 2>err
is "$? $(column step | sort | uniq -c | tr -s ' ')" "0  8 200" \
    "no seed of a setting is dropped for another one's luck"
# shellcheck disable=SC2086
gtrack sweep -o worse $drop --seeds 4 --grid x=0,3,0.001 --tsv \
    -- gtrack exec -- ./curve.sh '{x}' '{seed}' '{sweep.steps}' >out 2>err
is "$(steps)" "200 200 200 200 100 100 100 100 200 200 200 200 " \
    "a group that is worse is dropped, and one that may be as good is not"
like err "2 of 3 groups of seeds are not worse than the best" \
    "the message says how many groups are not worse"

# A cell that ends with NaN is dropped with its group, and not tried in each rung.
cat >dies.sh <<'END'
#!/bin/sh
echo "$1" >>tried
test "$1" != dead || { echo step=1 val/loss=nan; exit 5; }
exec ./curve.sh "$@"
END
chmod +x dies.sh
# shellcheck disable=SC2086
gtrack sweep -o dead $drop --set sweep.rungs=3 --seeds 2 --grid x=0,dead,0.001 --tsv \
    -- gtrack exec -- ./dies.sh '{x}' '{seed}' '{sweep.steps}' >out 2>err
is "$? $(sort tried | uniq -c | tr -s ' \n' ' ')" "1  6 0 6 0.001 1 dead " \
    "a cell that fails is tried once, and its other seeds are not tried"
is "$(column status | tr '\n' ' ')" \
    "FINISHED FINISHED FAILED missing FINISHED FINISHED " "the other groups are trained to the end"
like err "4 of 6 cells are done" "the message counts the cells that are done"
like err "1 of 6 cells failed" "the message counts the cells that failed"

# Values that are chosen by the results.  Each cell looks through all runs of the
# store, so those of the sweeps before make it slow.
afresh() { rm -rf mlruns; }
afresh
cat >bowl.sh <<'END'
#!/bin/sh
exec ./train.sh "$(awk -v x="$1" -v c="$2" \
    'BEGIN { print (log(x) / log(10) + 2) ^ 2 + (c == "b" ? 0 : 1) }')"
END
chmod +x bowl.sh
tpe() {
    folder=$1
    shift
    gtrack sweep -q -o "$folder" --random 'x=loguniform(1e-6, 1)' \
        --random 'c=choice(a, b)' --set sweep.sampler=tpe "$@" --tsv \
        -- ./bowl.sh '{x}' '{c}' >out 2>err
}
tpe one --set sweep.samples=30
is "$? $(column val/loss | wc -l)" "0 30" "with tpe, a sweep has as many cells as samples"
column val/loss >values
awk 'NR == 1 || (NR <= 10 && $1 < a) { a = $1 } NR == 11 || (NR > 10 && $1 < b) { b = $1 }
    END { exit !(b < a / 10) }' values
ok $? "the best cell that is chosen by results is better than the best random one" \
    "$(cat values)"
afresh
tpe two --set sweep.samples=20
tpe two --set sweep.samples=30
cmp -s one/manifest.tsv two/manifest.tsv
ok $? "the values follow from the seed and the results, also in two commands" \
    "$(diff one/manifest.tsv two/manifest.tsv)"
cat two/cells/*/calls >before
tpe two --set sweep.samples=30
is "$? $(cat two/cells/*/calls | cmp before -)" "0 " "a sweep whose values were chosen is not run again"
tpe seeds --set sweep.samples=12 --seeds 2
is "$? $(column x | sort | uniq -c | awk '{ print $1 }' | sort -u)" "0 2" \
    "each group whose values were chosen has all seeds"
tpe small --set sweep.samples=12 --grid y=1,2
is $? 2 "tpe refuses an axis of the grid"
like err "write y = choice(a, b) there" "the message says how to write the axis"
gtrack sweep report -o two --random 'x=loguniform(1e-6, 1)' --random 'c=choice(a, b)' \
    --set sweep.sampler=tpe --set sweep.samples=30 --by x --tsv >out 2>err
is "$? $(column val/loss | sort -g | head -n 1)" "0 $(sort -g values | head -n 1)" \
    "report has the values that were chosen"
gtrack sweep -o two --random 'z=uniform(0, 1)' --set sweep.sampler=tpe \
    --set sweep.samples=11 --tsv -- ./train.sh '{z}' >out 2>err
is "$? $(column z | grep -c .)" "0 11" \
    "values that were chosen for other axes are not mixed in"

# Axes that depend on others.
cat >c.ini <<'END'
[grid]
opt = sgd, adam
momentum = 0.8, 0.9 if opt = sgd
deep = 1, 2 if momentum = 0.9
END
gtrack sweep -c c.ini --tsv -- sh -c 'echo "m=0{momentum} n={sweep.cell}"; echo "[{momentum}]" >>seen' >out 2>err
is "$? $(cut -f 4-6 out | tail -n +2 | tr '\t\n' ',;')" \
    "0 sgd,0.8,;sgd,0.9,1;sgd,0.9,2;adam,,;" \
    "an axis has values where the axis that it depends on has its value"
is "$(sort seen | tr -d '\n')" "[0.8][0.9][0.9][]" "a value that a cell does not have is empty"
gtrack ls --sweep c --tsv -c name,momentum --no-header >runs 2>err
is "$(grep adam runs)" "c-opt=adam${tab}" "what a cell does not have is no parameter and not in its name"
for bad in "a=1,2 if b=1|an axis before this one, not 'if b=1'" \
    "a=1,2 if b|expects 'if KEY = value'" "a=1,2 if a=1|an axis before this one"; do
    gtrack sweep -o refused --grid "${bad%|*}" -- true >out 2>err
    like err "${bad#*|}" "the condition is refused: ${bad%|*}"
done
for bad in "--grid b=1 if a=2,5|b is for a = 5, but the values of a are 1, 2 or 3" \
    "--random b=uniform(0, 1) if a=4|b is for a = 4, but the values of a are 1, 2 or 3" \
    "--random b=choice(1) if z=5|b is for z = 5, but the values of z are integer(1, 4)" \
    "--random b=choice(1) if w=x|b is for w = x, but the values of w are y or z"; do
    words=${bad%|*}
    gtrack sweep -o refused --grid a=1,2,3 --random 'z=integer(1, 4)' \
        --random 'w=choice(y, z)' "${words%% *}" "${words#* }" -- true >out 2>err
    is "$? $(cat err)" "2 gtrack: ${words%% *}: ${bad#*|}" \
        "a value that the axis does not have is refused: $words"
done
gtrack sweep -o numbers --random 'z=integer(1, 4)' --grid 'a=logspace(1, 100, 3)' \
    --random 'b=choice(5) if z=4' --grid 'c=1,2 if a=100' --dry-run --tsv -- true >out 2>err
is "$? $(column a | sort -u | tr '\n' ' ') $(column b | grep -c 5)" "0 1 10 100  4" \
    "a condition may be a number of a range"
printf 'extends = c.ini\n[grid]\nopt = sgd, adam if deep = 1\n' >after.ini
gtrack sweep -c after.ini -- true >out 2>err
like err "after.ini:3: opt depends on an axis after it" \
    "an axis that is replaced cannot depend on one after it"
afresh
gtrack sweep -o tpe-if --random 'opt=choice(sgd, adam)' --set sweep.sampler=tpe \
    --random 'm=uniform(0, 1) if opt = sgd' --set sweep.samples=30 --tsv \
    -- ./train.sh '0{m}' >out 2>err
is "$? $(awk -F'\t' 'NR > 1 { print ($4 == "sgd") == ($5 != "") }' out | sort -u) $(
    cut -f 4 out | grep -c adam)" "0 1 1" \
    "of axes that depend on others, results choose what a cell has"

# Cells that are added while the sweep runs.
printf '[grid]\nx = 1\n' >grow.ini
cat >grow.sh <<'END'
#!/bin/sh
case $1 in
1) printf '[grid]\nx = 1, 2, 3\n' >grow.ini ;;
3) printf '[grid]\ny = 1\n' >grow.ini ;;
esac
exec ./train.sh "$1"
END
chmod +x grow.sh
gtrack sweep -c grow.ini --tsv -- ./grow.sh '{x}' >out 2>err
is "$? $(column x | tr '\n' ' ')" "0 1 2 3 " "cells that are added to the file of a running sweep run"
like err "2 cells were added" "the message says how many cells were added"
like err "grow.ini has changed, but this sweep goes on as before: its axes are others" \
    "a file with other axes changes nothing"

# Several processes share a sweep.
# calls FOLDER: how many calls of train.sh had each number of steps
calls() { cat "$1"/cells/*/calls | cut -d ' ' -f 2 | sort | uniq -c | tr -s ' \n' ' '; }
# shellcheck disable=SC2086
share() {
    gtrack sweep -o shared $halving --set sweep.metric=val/loss --grid x=1,2,3,4,5,6 "$@" \
        -- ./train.sh '{x}' '{sweep.steps}'
}
afresh
pids=
for i in 1 2 3; do
    share --join >"out.$i" 2>"err.$i" &
    pids="$pids $!"
done
bad=
for pid in $pids; do
    wait "$pid" || bad="$bad $?"
done
is "$bad $(calls shared)" "  6 2 2 6 " \
    "three processes that join a sweep run each cell of each rung once"
share status --tsv >out 2>err
is "$(column status | sort -u)" FINISHED "all cells are finished"

mkdir bin
cat >bin/sbatch <<'END'
#!/bin/sh
for word; do
    case $word in --array=*) tasks=${word#--array=} ;; esac
    job=$word
done
echo "$tasks" >arrays
for task in $(seq 0 "${tasks#0-}"); do
    SLURM_ARRAY_JOB_ID=42 SLURM_ARRAY_TASK_ID=$task sh "$job" >>tasks.log 2>&1 &
done
wait
echo 42
END
chmod +x bin/sbatch
# shellcheck disable=SC2086
PATH=$dir/bin:$PATH gtrack sweep -o array -j 3 --slurm $halving --grid x=1,2,3,4,5,6 \
    -- ./train.sh '{x}' '{sweep.steps}' >out 2>err
is "$? $(cat arrays) $(calls array)" \
    "0 0-2  6 2 2 6 " "the tasks of an array job of Slurm share a search" "$(cat tasks.log)"
afresh
PATH=$dir/bin:$PATH gtrack sweep -o atpe -j 2 --slurm --random 'x=uniform(0, 1)' \
    --set sweep.sampler=tpe --set sweep.samples=14 -- ./train.sh '{x}' >out 2>err
gtrack sweep status -o atpe --random 'x=uniform(0, 1)' --set sweep.sampler=tpe \
    --set sweep.samples=14 --tsv >out 2>err
is "$(cat arrays) $(column status | sort | uniq -c | tr -s ' ')" "0-1  14 FINISHED" \
    "the tasks of an array job choose values by the results of all"

afresh
# A group of seeds that continues is shared, too: each seed awaits the other one.
cat >pair.sh <<'END'
#!/bin/sh
if test "$3" = 6; then
    : >"at.$2"
    i=0
    until test -e "at.$((3 - $2))" || test $i = 600; do
        i=$((i + 1))
        perl -e 'select undef, undef, undef, 0.05'
    done
    test -e "at.$((3 - $2))" && echo "$2" >>pairs
fi
exec ./train.sh "$1" "$3"
END
chmod +x pair.sh
for i in 1 2; do
    # shellcheck disable=SC2086
    gtrack sweep --join -o pairs.d $halving --set sweep.eta=2 --grid x=1,2 --seeds 2 \
        -- ./pair.sh '{x}' '{seed}' '{sweep.steps}' >"out.$i" 2>"err.$i" &
    pids="$pids $!"
done
for pid in $pids; do
    wait "$pid"
done
is "$(sort pairs | tr '\n' ' ')" "1 2 " \
    "processes that find nothing to do await what may continue" "$(cat err.1 err.2)"

# A process that is told to stop leaves its cell to the others.
mkfifo wait
# shellcheck disable=SC2086
gtrack sweep --join -o left $halving --grid x=1,2 -- sh -c \
    'test -e go || { echo >started; read -r _ <wait; }; exec ./train.sh {x} {sweep.steps}' >out 2>err &
pid=$!
await_file started
kill -TERM $pid
wait $pid
status=$?
: >go
# shellcheck disable=SC2086
gtrack sweep --join -o left $halving --grid x=1,2 -- sh -c \
    'test -e go || { echo >started; read -r _ <wait; }; exec ./train.sh {x} {sweep.steps}' >out 2>err
gtrack sweep status -o left --grid x=1,2 --tsv >out 2>err
is "$status $(steps)$(column status | sort -u)" "75 6 2 FINISHED" \
    "a cell that a process was stopped in is run by the next one"
done_testing
