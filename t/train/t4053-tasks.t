#!/bin/sh
# Tasks that training asks, their record, and its proof.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
unset GTRAIN_ISA
encode_letters tokens/data
mkdir data
for i in 1 2 3 4 5 6; do
    echo '{"q": "ab'$i'", "a": ["c", "de"], "r": '$((i % 2))'}'
done >data/own.jsonl
head -n 3 data/own.jsonl >data/shots.jsonl
for i in 1 2 3 4; do
    echo '{"text": "some '$i' more words"}'
done >data/lambada_test.jsonl
mkdir common
printf '%s\n' '[own]' 'shots = 1' >common/base.ini
printf '%s\n' 'extends = base.ini' >common/between.ini
printf '%s\n' 'extends = common/between.ini' '[own]' 'shots_file = shots.jsonl' >base.ini
cat >own.ini <<'END'
extends = base.ini
[own]
context = {q}
choices = {a}
label = {r}
END
small_ini data.tokenizer=tok "data.train=tokens/data_*.bin" \
    "data.val=tokens/data_*.bin" eval.every=10 eval.sequences=2 \
    eval.tasks='own.ini, lambada' eval.tasks_every=5 \
    train.micro_batch=1 train.batch=12 train.deterministic=yes schedule.steps=20 \
    checkpoint.every=10 checkpoint.keep_last=9 >c.ini
# points RUN: all answers, with their steps
points() {
    (cd "$(gtrack where "$1")/metrics" &&
        for key in task/*/*; do
            cut -d ' ' -f 2- "$key" | sed "s,^,$key ,"
        done)
}
gtrain --config c.ini --name one >out 2>&1
ok $? "a model is trained and asked two tasks" "$(cat out)"
is "$(gtrack metrics one --tsv --no-header | cut -f1,2 |
    grep '^task' | tr '\t\n' ' ;')" \
    "task/lambada/acc 4;task/lambada/acc_stderr 4;\
task/lambada/perplexity 4;task/own/acc 4;task/own/acc_bytes 4;task/own/acc_norm 4;\
task/own/acc_norm_stderr 4;task/own/acc_stderr 4;" \
    "the tasks are asked at their interval"
unlike out nan "no metric is NaN"
step=$(echo "$(gtrack where one)"/artifacts/checkpoints/step-00000020)
gtrain eval "$step" --tasks own.ini,lambada --tsv --no-header >eval 2>err
for f in 'own/acc 3' 'own/acc_norm 4' 'own/acc_stderr 6' 'own/acc_bytes 7' \
    'own/acc_norm_stderr 9' 'lambada/acc 3' 'lambada/perplexity 8'; do
    is "$(gtrack ls one -c "task/${f% *}" --tsv --no-header)" \
        "$(grep "^${f%%/*}$tab" eval | cut -f"${f#* }")" \
        "the last task/${f% *} is what gtrain eval prints"
done
# Ranks share the questions, and a run that is resumed asks the same ones.
points one >want
answers() {
    cat "$(gtrack where "$1")/artifacts/tasks.tsv"
}
answers one >items
is "$(cut -f 1-3 items | tr '\t\n' ' ;')" "20 own acc;20 own acc_norm;20 lambada acc;" \
    "the answers to each question of the last evaluation are kept"
for metric in own/acc own/acc_norm lambada/acc; do
    is "$(awk -F '\t' -v m=$metric '$2 "/" $3 == m {
        n = length($5); printf "%.6g", gsub("1", "", $5) / n }' items)" \
        "$(gtrack metrics one task/$metric --tsv --no-header |
            awk '{ x = $2 } END { printf "%.6g", x }')" \
        "task/$metric is the share of right answers among those kept"
done
for n in 2 3 4; do
    gtrain --config c.ini --name ranks$n -q --ranks $n >out 2>&1
    points ranks$n >got
    is "$? $(diff want got)" "0 " "$n ranks give the same answers, to the last bit"
    answers ranks$n | cmp -s - items
    ok $? "$n ranks keep the same answers to each question"
done
gtrain --config c.ini --name two -q --set train.stop_at=10 >out 2>&1 &&
    gtrain --config c.ini -q --resume two >>out 2>&1
points two >got
is "$? $(diff want got)" "0 " "a run that was resumed has the same answers"
answers two | cmp -s - items
ok $? "a run that was resumed keeps the same answers to each question"

# replay NAME STATUS RUN: what it prints is in out and err
replay() {
    gtrain replay "$3" --steps 1:20 --tsv --no-header >out 2>err
    is $? "$2" "$1" "$(cat out err)"
}
for run in one two ranks3; do
    replay "the answers of $run are certified" 0 $run
    unlike err "not computed again" "none is left out"
done
metrics=$(gtrack where one)/metrics
for key in own/acc_norm_stderr lambada/perplexity; do
    cp "$metrics/task/$key" kept
    sed '/ 15$/s/ [0-9.e+-]* / 0.91 /' kept >"$metrics/task/$key"
    replay "a forged $key is found" 1 one
    like err "differs at step 15: task/$key is .*, but the run recorded 0.91" \
        "replay names $key"
    cp kept "$metrics/task/$key"
done
kept=$(gtrack where one)/artifacts/tasks.tsv
awk -F '\t' '{ OFS = FS; $5 = (substr($5, 1, 1) == 1 ? 0 : 1) substr($5, 2) } 1' \
    items >"$kept"
replay "a forged answer to a question is found" 1 one
like err "differs at step 20: tasks.tsv is not what the model writes" \
    "replay names the file of the answers"
cp items "$kept"
mv data/shots.jsonl away
replay "a run without a file of its tasks is certified" 0 one
like err "not computed again: task/lambada/acc, .*task/own/acc_stderr, tasks.tsv$" \
    "the answers are named as not computed again"
mv away data/shots.jsonl
echo '<!-- gtrack: one | task/own/acc | .4f -->0<!-- /gtrack -->' >r.md
gtrack claims --fill r.md >out 2>&1 && gtrack claims --tsv --no-header r.md >out 2>err
is "$? $(cut -f3,6 out)" "0 task/own/acc${tab}equal" "a claim on an answer holds"
gtrack bundle one -o paper.tar --data >out 2>&1
tar tf paper.tar >names
for file in own.ini base.ini common/between.ini common/base.ini data/own.jsonl data/shots.jsonl data/lambada_test.jsonl; do
    like names "^paper/files/$file\$" "a bundle has $file"
done

# The answers of two runs are compared if they were asked the same questions.
gtrack compare one two --tasks --tsv --no-header >out 2>err
is "$? $(cut -f 1-3,6- out | tr '\t\n' ' ;')" \
    "0 two task/own/acc 6 0 0 0.0 1.0 equal;two task/own/acc_norm 6 0 0 0.0 1.0 equal;\
two task/lambada/acc 4 0 0 0.0 1.0 equal;" "runs with the same answers do not differ"
is "$(cat err)" "" "nothing is said about questions that are the same"
# asked NAME ROWS SETTING: a run that is asked otherwise than the first
asked() {
    gtrain --config c.ini --name "$1" -q --set train.stop_at=5 --set "$3" >out 2>&1 &&
        gtrack compare one "$1" --tasks --tsv --no-header >out 2>err
    is "$? $(cut -f 2 out | tr '\n' ';')" "0 $2" \
        "what was asked otherwise is not compared: $3" "$(cat out err)"
    like err "task/own/acc: $1 was not asked the same questions as the first run" \
        "a message tells what is not compared: $3"
}
asked fewer "" eval.tasks_limit=2
asked shots "task/lambada/acc;" eval.tasks_shots=0
like err "the answers of shots are of step 5, those of the first run of step 20" \
    "answers of different steps are pointed out"

# A signal comes among the tasks: none of their answers is recorded twice.
awk 'BEGIN { for (i = 0; i < 100000; i++)
    printf "{\"q\":\"a%d\",\"a\":[\"b\",\"c\"],\"r\":%d}\n", i, i % 2 }' >data/big.jsonl
sed '/extends/d; s/own/big/' own.ini >big.ini
asks() {        # asks NAME LIMIT
    gtrain --config c.ini --name "$1" --resume auto --set eval.tasks=lambada,big.ini \
        --set eval.every=5 --set eval.tasks_limit="$2" >log 2>&1
}
asks whole 2
rm log
asks due 0 &
pid=$!
await_line log 'step 5: validation loss' $pid
kill -TERM $(children $pid)
wait $pid
status=$?
last=$(sed -n 's/.*stopped by a signal after step \([0-9]*\);.*/\1/p' log)
is "$status $(gtrack metrics due task/lambada/acc --tsv --no-header 2>&1 |
    grep -c "^$last$tab")" "75 0" "a signal ends training among the tasks"
asks due 2
points whole >want
points due >got
is "$? $(diff want got)" "0 " "when training resumes, all of them are asked"

# What cannot be asked is refused before the first step, in one line.
bad() {         # bad STATUS NAME PATTERN [SETTING]...
    status=$1 name=$2 pattern=$3
    shift 3
    for set; do
        shift
        set -- "$@" --set "$set"
    done
    gtrain --config c.ini --name bad "$@" >out 2>&1
    is "$? $(grep -c . out)" "$status 1" "$name" "$(cat out)"
    like out "$pattern" "the message says why"
}
bad 2 "an unknown task is refused" \
    'eval.tasks: there is no task lambda.*lambada' eval.tasks=own.ini,lambda
: >none.ini
bad 2 "an INI file without a task is refused" 'there is no task in none.ini' \
    eval.tasks=lambada,none.ini
bad 3 "an INI file that is not there is refused" 'eval.tasks: .*gone.ini' \
    eval.tasks=gone.ini
bad 3 "a file of questions that is not there is refused" \
    'eval.tasks: cannot open elsewhere/own.jsonl' eval.tasks_data=elsewhere
bad 2 "a task that is given twice is refused" 'there are two tasks lambada' \
    eval.tasks=lambada,own.ini,lambada
bad 2 "tasks without a tokenizer are refused" 'need a tokenizer' data.tokenizer= \
    model.vocab=260
printf '%s\n' '[own]' 'shot = 1' >common/wrong.ini
printf '%s\n' 'extends = common/wrong.ini' >wrong.ini
sed 's/base/wrong/' own.ini >far.ini
bad 2 "a file that others extend is refused with its line" \
    'eval.tasks: far.ini:1: wrong.ini:1: common/wrong.ini:2: a task has no .*shot' \
    eval.tasks=far.ini
printf '%s\n' 'extends = far.ini' >wrong.ini
bad 2 "files that extend each other are refused" \
    'eval.tasks: far.ini:1: wrong.ini:1: far.ini extends itself' eval.tasks=far.ini
sed 's/{q}/{p}/' own.ini >other.ini
bad 1 "a template without its field is refused" \
    'eval.tasks: data/own.jsonl:1: there is no p' eval.tasks=other.ini
bad 2 "too many shots are refused" 'eval.tasks_shots' eval.tasks_shots=1001
gtrain --config c.ini --name never -q --set eval.tasks=nothing \
    --set eval.tasks_every=0 --set train.stop_at=1 >out 2>&1
ok $? "what is never asked is not read" "$(cat out)"
done_testing
