#!/bin/sh
# gtrack sweep: a command is run with each combination of values, and its run is
# the cell's, whether the command is a shell script, gtrack exec or the file of a
# sweep of W&B.  What failed is tried again, and a command that cannot be run is
# refused before the first cell starts.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
unset GTRACK_RESUME

make_train_sh
cat >s.ini <<'END'
[sweep]
parallel = 2
[data]
name = c4
[grid]
optim.lr = 0.1, 0.01
seed = 1, 2
END
sweep() { gtrack sweep -c s.ini --tsv "$@" >out 2>err; }

touch fail-0.1
sweep -- ./train.sh '{optim.lr}'
is $? 1 "a sweep with cells that failed ends with status 1"
is "$(grep -c FINISHED out) $(grep -c FAILED out)" "2 2" \
    "each cell is a run that ends as its command did"
like err "failed with status 5: .*sweeps/s/cells/.*log" \
    "a cell that failed names its log"
gtrack ls --tsv -c name,data.name,optim.lr,seed,val/loss >runs 2>err
is "$(awk -F'\t' '$2 == "c4" && $3 == $5 && $4 ~ /[12]/' runs | wc -l)" 4 \
    "the values and the settings of the file are parameters of the runs"
rm fail-0.1
sweep -- ./train.sh '{optim.lr}'
is "$? $(grep -c FINISHED out) $(gtrack ls --tsv | wc -l)" "0 4 6" \
    "a sweep that is run again tries the failed cells again, as the same runs"
is "$(cat sweeps/s/cells/*/calls | sort | uniq -c | awk '{ print $1, $2 }' |
    tr '\n' ' ')" "2 0.01 4 0.1 " "cells that are done are not run again"
is "$(gtrack show "$(cat sweeps/s/parent)" --json | grep -c '"FINISHED"')" 1 \
    "the parent is finished when all of its cells are"
sweep report --by optim.lr
is "$(cut -f 4 out | tail -n 1)" 0.01 "report finds the best value"
printf '[grid]\noptim.lr = 1, 2\nmodel.layers = 3\nmodel.width = 4, 5\n' >flat.ini
gtrack sweep -q -c flat.ini -- ./train.sh '{optim.lr}' >out 2>err
gtrack sweep report -c flat.ini --tsv >out 2>err
is "$(head -n 1 out)" \
    "model.width${tab}optim.lr=1${tab}optim.lr=2${tab}best optim.lr${tab}val/loss${tab}sensitivity" \
    "report leaves out an axis of one value" "$(cat err)"
gtrack sweep status -c s.ini --tsv >out 2>err
is "$(grep -c FINISHED out)" 4 "status needs no command"

# Started at once: one runs the cells.
started=
for i in 1 2 3; do
    gtrack sweep -q -o once --grid a=7,8 -- ./train.sh '{a}' >out 2>"err.$i" &
    started="$started $!"
done
bad=
for pid in $started; do
    wait "$pid"
    case $? in 0 | 7) ;; *) bad="$bad $?" ;; esac
done
is "$bad $(cat once/cells/*/calls | sort | tr '\n' ' ')" " 7 8 " \
    "a sweep that is started three times at once runs each cell once"
is "$(gtrack ls --tsv -c id --no-header "tags.sweep.folder = 'once'" 2>err)" \
    "$(cat once/parent)" "sweeps that are started at once have one parent"

# The sweep and the command of a cell are killed; no process writes the run.
cat >killed.sh <<'END'
run=$(gtrack run start)
gtrack run log "$run" --step 1 loss=1
test -e tried || { : >tried; kill -KILL $PPID $$; }
gtrack run end "$run"
END
gtrack sweep -q -o gone --grid a=7,8 -- sh killed.sh >out 2>err
gtrack sweep -q -o gone --tsv --grid a=7,8 -- sh killed.sh >out 2>err
is "$? $(grep -c FINISHED out)" "0 2" \
    "a cell that was killed with its sweep is run again"

# So is one that runs alone, as a task of an array job does.
rm tried
task() { gtrack sweep -o task --grid a=7,8 --tsv "$@"; }
states() { gtrack sweep status -o task --grid a=7,8 --tsv 2>err | tail -n +2 | cut -f 3 | tr '\n' ' '; }
task -q --cell 0 -- sh killed.sh >out 2>err
is "$(states)" "STALE missing " "a cell that was killed with its task does not run"
gtrack ls --sweep "$(cat task/parent)" --tsv -c id --no-header >id
file=$(gtrack where "$(cat id)")/.gtrack/attempt.1.yaml
sed -i 's/^boot_id: .*/boot_id: elsewhere/' "$file"
sed -i 's/^interval_ms: .*/interval_ms: 100/' "$file"
is "$(GT_CLOCK_MS=$(date -d '1 year' +%s000) states)" "RUNNING missing " \
    "of another machine, no clock tells whether a cell runs"
export GTRACK_CACHE="$dir/cache"
for _ in $(seq 500); do
    test "$(states)" != "STALE missing " || break
done
is "$(states)" "STALE missing " \
    "on another machine, a cell that was killed with its task ends, too"
touch -d '19 minutes' "$file"
is "$(states)" "RUNNING missing " \
    "a cell whose file its task touches runs, though it logs nothing"
task -q >out 2>err -- sh killed.sh
is "$? $(grep -c FINISHED out)" "0 2" \
    "a sweep looks whether another machine runs a cell, and runs it"
rm tried
cat >runs.sh <<'END'
run=$(gtrack run start)
gtrack run log "$run" --step 1 loss=1
gtrack sweep status -o task --grid a=7,8 --tsv >during
gtrack run end "$run"
END
task -q --cell 0 -- sh runs.sh >out 2>err
is "$? $(states) $(grep -c RUNNING during)" "0 FINISHED FINISHED  1" \
    "a task that is started again runs its cell"

# Points of an attempt that failed are retracted, or kept by sweep.resume.
cat >two.sh <<'END'
run=$(gtrack run start)
gtrack run log "$run" --step "$1" loss=1
test "$1" -lt 5 || exit 1
gtrack run end "$run"
END
for resume in no yes; do
    for step in 7 3; do
        gtrack sweep -q -o "$resume" --set sweep.resume=$resume --grid a=7 \
            -- sh two.sh $step >out 2>err
    done
    gtrack ls --sweep "$(cat "$resume/parent")" --tsv -c id --no-header >id
    gtrack metrics "$(cat id)" loss --tsv >points 2>&1
    is "$(cut -f 1 points | tail -n +2 | tr '\n' ' ')" \
        "$(test $resume = no && echo '3 ' || echo '3 7 ')" \
        "with sweep.resume = $resume, a second attempt has the right points"
done

# refused STATUS MESSAGE WORDS...
refused() {
    want=$1 message=$2
    shift 2
    gtrack sweep -o refused "$@" >out 2>err
    is "$? $(test ! -e refused && echo none)" "$want none" \
        "nothing starts, with status $want: $message"
    like err "$message" "the message says: $message"
}
refused 2 "no setting for {lrr}" --grid lr=1,2 -- ./train.sh '{lrr}'
refused 2 "give it after --" --grid lr=1,2
refused 2 "halving needs sweep.steps" --grid lr=1,2 \
    --set sweep.method=halving -- ./train.sh '{lr}'
refused 2 "has no axes" -- ./train.sh

gtrack sweep --seeds 3 -o seeds --tsv -- sh -c 'echo "loss={seed}"' >out 2>err
is "$? $(cut -f 4 out | tail -n 3 | tr '\n' ' ')" "0 1 2 3 " \
    "seeds alone make a sweep"

gtrack sweep --grid lr=1 -o words -- sh -c \
    'printf "%s|" "$@" $GTRACK_VALUE_LR $GTRACK_SWEEP_VALUES >words.out' \
    sh '{{lr}}' 'a{lr}b' '{ x }' '{sweep.cell}' >out 2>err
is "$(cat words.out)" "{lr}|a1b|{ x }|$(cut -f 2 words/manifest.tsv |
    tail -n 1)|1|{\"lr\":1}|" \
    "placeholders are filled in, and the values are exported"

gtrack sweep --grid lr=1,2 -o exec -- gtrack exec -- echo 'loss={lr}' \
    >out 2>err
gtrack ls --sweep "$(cat exec/parent)" --tsv -c lr,loss --no-header >runs 2>err
is "$(sort runs | tr '\t\n' '  ')" "1 1.0 2 2.0 " \
    "gtrack exec records into the run of the cell"

gtrack sweep --grid lr=1 -o missing -- ./nothing >out 2>err
like err "status 127: cannot run ./nothing" \
    "a command that does not exist is named"

# Halving: six cells to step 2, two of them to step 4.
gtrack sweep -o half --set sweep.method=halving --set sweep.rungs=2 \
    --set sweep.steps=6 --grid lr=1,2,3,4,5,6 --tsv \
    -- ./train.sh '{lr}' '{sweep.steps}' >out 2>err
is "$(cut -f 5 out | tail -n +2 | sort | uniq -c | awk '{ print $1, $2 }' |
    tr '\n' ' ')" "4 2 2 6 " "successive halving continues two of six cells"

# Cells that fail take no part in later rungs, even with the best metric.
for more in "" drop=0.05; do
    rm -rf dead calls
    gtrack sweep -o dead --set sweep.method=halving --set sweep.rungs=3 \
        --set sweep.eta=2 --set sweep.steps=8 ${more:+--set "sweep.$more"} \
        --grid lr=1,2,3,4 -- sh -c \
        'echo {lr} >>calls; ./train.sh {lr} {sweep.steps} && test {lr} -gt 2' >out 2>err
    is "$(sort calls | uniq -c | awk '{ print $2 ":" $1 }' | head -n 2 | tr '\n' ' ')" \
        "1:1 2:1 " "a cell that fails is run once in a command${more:+, with $more}"
    like err "2 of 4 cells failed" "a cell that failed is counted once${more:+, with $more}"
done

# A command that logs nothing fails, and then does not.
gtrack sweep -q -o quiet --grid a=1,2 -- sh -c 'test {a} = 1 || exit 3' >out 2>err
gtrack sweep -q -o quiet --grid a=1,2 --tsv -- true >out 2>err
is "$? $(grep -c FINISHED out)" "0 2" "a cell that is tried again ends as this try does"
gtrack sweep -q -o kept --grid a=1 -- gtrack exec -- false >out 2>err
gtrack sweep -q -o kept --grid a=1 --tsv -- gtrack exec -- true >out 2>err
run=$(echo mlruns/*/"$(gtrack ls --sweep "$(cat kept/parent)" --tsv -c id --no-header)")
grep -q FINISHED out && grep -q '^state: "FAILED"' "$run/.gtrack/attempt.2.yaml" &&
    grep -q '^state: "FINISHED"' "$run/.gtrack/attempt.3.yaml"
ok $? "the attempt that failed stays as it was" "$(cat out "$run"/.gtrack/attempt.*)"

# The file of a sweep of W&B.
cat >w.yaml <<'END'
program: ./train.sh
name: lr
method: grid
metric: { name: val/loss, goal: minimize }
parameters:
  lr: { values: [0.5, 0.25] }
  steps: { value: 9 }
command:
  - ${env}
  - ${program}
  - "{lr}"
  - "{steps}"
END
gtrack sweep -c w.yaml --tsv >out 2>err
is "$? $(grep -c FINISHED out) $(cat sweeps/lr/cells/*/calls | sort |
    tr '\n' ' ')" "0 2 0.25 9 0.5 9 " "a sweep of W&B is run as it is"
cat >r.yaml <<'END'
program: train.py
method: random
run_cap: 3
metric: { name: val/loss, goal: maximize }
parameters:
  lr: { min: 0.001, max: 0.1, distribution: log_uniform_values }
  layers: { min: 1, max: 4 }
  name: { values: ["a,b", c] }
  width: { value: 8 }
command: [echo, "${program}", "${args}"]
END
gtrack sweep -c r.yaml >out 2>err
want='^train.py --width=8 --lr=0\.0[0-9]+ --layers=[1-4] --name=(a,b|c)$'
is "$(cat sweeps/r/cells/*.log | grep -cE -e "$want")" 3 "random parameters become arguments"
sed 's/random/bayes/; s/cap: 3/cap: 14/; s/command.*/command: [.\/own, "{lr}"]/' r.yaml >b.yaml
printf '#!/bin/sh\necho "val/loss=0$1"\n' >own
chmod +x own
gtrack sweep -c b.yaml >out 2>err
is "$? $(ls sweeps/b/cells/*.log | wc -l) $(ls sweeps/b/draws | wc -l)" "0 14 4" \
    "method: bayes chooses what comes after ten random cells by the results"
for bad in "s/random/hyperband/:expects grid, random or bayes" \
    "s/min: 1, max: 4/distribution: normal, min: 1, max: 4/:distribution normal" \
    "s/random/grid/:has a range" "s/{ min: 1.*/{ }/:layers needs values"; do
    sed "${bad%:*}" r.yaml >bad.yaml
    refused 2 "${bad##*:}" -c bad.yaml
done
sed 's/{ min: 1, max: 4 }/\&four { value: 4 }/; s/{ value: 8 }/*four/' r.yaml >bad.yaml
refused 1 "the value of width is an alias" -c bad.yaml

# Slurm: a stand-in for sbatch runs the tasks of the array.
mkdir bin
cat >bin/sbatch <<'END'
#!/bin/sh
for word; do
    case $word in --array=*) tasks=${word#--array=} ;; esac
    job=$word
done
echo "$tasks" >>arrays
case $tasks in 0-*) tasks=$(seq -s, 0 "${tasks#0-}") ;; esac
for task in $(echo "${tasks%%%*}" | tr , ' '); do
    SLURM_ARRAY_TASK_ID=$task sh "$job" >>tasks.log 2>&1
done
echo 42
END
chmod +x bin/sbatch
PATH=$dir/bin:$PATH gtrack sweep -c s.ini -o array -e many --slurm \
    -- ./train.sh '{optim.lr}' >out 2>err
gtrack ls -e many --tsv -c sweep.cell,status --no-header >runs 2>&1
is "$(sort runs | grep -c 'FINISHED$') $(cat tasks.log | grep -c 'is done')" \
    "5 4" "an array job of Slurm runs the cells in the same way"
is "$(cat arrays)" "0,1,2,3%2" "as many tasks run at a time as sweep.parallel says"
PATH=$dir/bin:$PATH gtrack sweep -c s.ini -o 'an array' -e many --slurm \
    --set slurm.signal=300 -- true '{optim.lr}' >out 2>err
grep -rqh "^#SBATCH --output='.*an array/cells/%x-%a.out'$" 'an array'
ok $? "a folder with a blank is one word to sbatch" "$(grep -rh SBATCH 'an array')"
is "$(grep -rh -e --signal array 'an array' | sort)" \
    "#SBATCH --signal=B:USR1@120
#SBATCH --signal=B:USR1@300" "the time between the signal and the limit is a setting"

# A sweep that is told to stop.
mkfifo wait
gtrack sweep -o stopped --grid lr=1,2 -- sh -c \
    'gtrack run start >started.new && mv started.new started; read -r _ <wait' \
    >out 2>err &
pid=$!
await_file started
kill -TERM $pid
wait $pid
is "$? $(gtrack show "$(cat started)" --json | grep -c '"KILLED"')" "75 1" \
    "SIGTERM stops the cells, and their runs are killed"
gtrack sweep status -o stopped --grid lr=1,2 --tsv >table 2>err
is "$(cut -f 3 table | tail -n +2 | tr '\n' ' ')" "KILLED missing " \
    "no cell is started after a signal"

# Nothing that a cell has started outlives the sweep.
cat >stays.sh <<'END'
sleep 600 &
echo $! >"$1.behind"
sh -c 'echo $$ >'"$1"'.inside; exec sleep 600'
END
gtrack sweep -q -j 2 -o stays --grid lr=1,2 -- sh "$dir/stays.sh" "$dir/{lr}" \
    >out 2>err &
pid=$!
left=
for file in 1.behind 2.behind 1.inside 2.inside; do
    await_file $file
    left="$left --pid=$(cat $file)"
done
kill -TERM $pid
wait $pid
status=$?
# shellcheck disable=SC2086 # a word an option
timeout 60 tail $left -f /dev/null
is "$status $?" "75 0" "a sweep that is told to stop leaves no process of its cells"
done_testing
