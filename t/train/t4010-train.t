#!/bin/sh
# gtrain trains, stops, goes on, and says what is wrong.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
rhythm 6000 >train.bin
head -c 2000 train.bin >val.bin
small_ini model.layers=2 model.vocab=32 model.vocab_multiple=1 \
    model.dropout=0.1 data.train=train.bin data.val=val.bin \
    train.micro_batch=2 train.batch=4 optim.lr=1e-2 schedule.steps=12 \
    schedule.warmup=2 eval.every=6 eval.sequences=8 checkpoint.every=4 \
    checkpoint.keep_last=9 >tiny.ini
train() { gtrain --config tiny.ini "$@" >out 2>&1; }
# the losses of a run, newest value of each step
curve() { # curve ROOT
    cat "$1"/*/*/metrics/train/loss |
        awk '{ v[$3] = $2 } END { for (s in v) print s, v[s] }' | sort -n
}

train --root whole
ok $? "a training of 12 steps ends well"
grep -qE '^[0-9a-f]{64}$' whole/*/*/params/derived.data.train &&
    grep -q train.bin whole/*/datasets/*/meta.yaml
ok $? "the run records the hash of its data and the dataset"
curve whole >want
test "$(wc -l <want)" -eq 12
ok $? "the store has the loss of every step" "$(cat want)"
awk 'NR == 1 { a = $2 } END { exit !($2 < a) }' want
ok $? "the loss of the first training falls" "$(cat want)"

# state_in_bf16 WHAT TOLERANCE SETTING...: other weights, and a resume that
# repeats them; the reference has the losses of the CPU up to the tolerance
state_in_bf16() {
    what=$1 tolerance=$2
    shift 2
    rm -rf rounded rounded-half rounded-ref
    train --root rounded "$@"
    curve rounded >rounded.want
    paste want rounded.want | awk '{ off = $2 - $4; same += !off }
        off * off > 1e-4 { exit bad = 1 }
        END { exit bad || NR != 12 || same == NR }'
    ok $? "$what in bf16 give nearly the losses of fp32" \
        "$(cat out rounded.want)"
    train --root rounded-half "$@" --set train.stop_at=6 &&
        train --root rounded-half "$@" --resume auto
    curve rounded-half >rounded.got
    ok "$(cmp -s rounded.got rounded.want; echo $?)" \
        "$what in bf16 resume to the last bit" "$(cat out)"
    train --root rounded-ref "$@" --set train.device=ref
    curve rounded-ref | paste rounded.want - |
        awk -v most="$tolerance" '{ off = $2 - $4 }
            off * off > most * most { exit bad = 1 } END { exit bad || NR != 12 }'
    ok $? "the reference rounds $what in bf16 as the CPU does" "$(cat out)"
    train --root lion "$@" --set optim.name=lion
    is $? 2 "$what in bf16 are refused with another optimiser than adamw or adam"
}
state_in_bf16 moments 1e-5 --set optim.moments=bf16
state_in_bf16 'master weights' 1e-2 --set train.precision=bf16 \
    --set optim.masters=bf16
state_in_bf16 'moments and master weights' 1e-2 --set train.precision=bf16 \
    --set optim.moments=bf16 --set optim.masters=bf16
train --set optim.masters=bf16
is $? 2 "master weights in bf16 are refused with activations in fp32"
for types in 'fp32 bf16' 'bf16 fp32'; do
    rm -rf rounded
    set -- --root rounded --set train.precision=bf16
    train "$@" --set optim.masters="${types% *}" --set train.stop_at=6 &&
        train "$@" --set optim.masters="${types#* }" --resume auto
    curve rounded | paste want - | awk '{ off = $2 - $4 }
        off * off > 1e-4 { exit bad = 1 } END { exit bad || NR != 12 }'
    ok $? "a resume may change the type of master weights: $types" "$(cat out)"
done
set --

# 6 + 6 = 12, to the last bit
train --root half --set train.stop_at=6
ok $? "a training stops at train.stop_at"
train --root half --resume auto
ok $? "a stopped training resumes"
curve half >got
cmp -s want got
ok $? \
    "a resumed training has the losses of an unbroken one, to the bit" \
    "$(diff want got)"
test "$(ls -d half/*/*/metrics | wc -l)" -eq 1
ok $? "a resumed training continues its run"
w=$(ls -d whole/*/*/artifacts/checkpoints/step-00000012)
h=$(ls -d half/*/*/artifacts/checkpoints/step-00000012)
cmp -s "$w/model.safetensors" "$h/model.safetensors" &&
    cmp -s "$w/optim.safetensors" "$h/optim.safetensors"
ok $? "a resumed training has the weights and moments of an unbroken one"

# killed at any moment, it resumes from the last complete checkpoint
for wait in 0.05 0.15 0.3; do
    rm -rf killed
    gtrain --config tiny.ini --root killed --set checkpoint.every=1 \
        --set checkpoint.async=no --set schedule.steps=12 >out 2>&1 &
    pid=$!
    perl -e 'select undef, undef, undef, shift' "$wait"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    train --root killed --resume auto
    status=$?
    curve killed >got
    test $status -eq 0 && cmp -s want got
    ok $? "killed after $wait s, the curve is that of an unbroken run" \
        "$(cat out; diff want got)"
done

# a limit on the size of files is like a full disk
rm -rf limited
(ulimit -f 16 && train --root limited) >out 2>&1
status=$?
test $status -eq 1 && grep -q 'File too large' out
ok $? "a limit on the size of files fails the checkpoint, not the process" \
    "status $status: $(tail -n 3 out)"

# a damaged checkpoint is skipped
rm -rf damaged && train --root damaged
c=$(ls -d damaged/*/*/artifacts/checkpoints)
printf x | dd of="$c/step-00000012/model.safetensors" bs=1 seek=900 \
    conv=notrunc 2>/dev/null
train --root damaged --resume auto
grep -q 'skipping.*step-00000012' out && grep -q 'after step 8' out
ok $? "a damaged checkpoint is skipped"
train --root elsewhere --resume "$c/step-00000004" &&
    grep -q 'starting a new one' out && test "$(cat \
    elsewhere/*/*/metrics/train/loss | head -n 1 | cut -d ' ' -f 3)" = 5
ok $? "a checkpoint from another store begins a run there"
# what the checkpoint says of the run and the step is summed as well
cp -r "$c/step-00000008" lied && sed -i 's/"step": 8,/"step": 9,/' \
    lied/state.json && train --root lies --resume lied
test $? -eq 1 && tail -1 out | grep -q 'lied/state.json is damaged'
ok $? "a checkpoint whose state was changed is refused"
sed -i 's/"sha256": "\([0-9a-f]*\)",$/"sha25v": "\1",/' lied/state.json
grep -q '^ "sha25v"' lied/state.json && train --root lies --resume lied
test $? -eq 1 && tail -1 out | grep -q 'lied/state.json is damaged'
ok $? "a checkpoint whose state has no checksum is refused"
train --root damaged --resume "$c/step-00000012"
ok $? "a damaged checkpoint was replaced by a later training"
train --root damaged --resume "$c/step-00000012.old"
test $? -eq 1 || test $? -eq 2
ok $? "a damaged checkpoint that was asked for by name is refused"

# the same whatever happens beside it
train --root sampled --set sample.every=3 --set data.tokenizer=
curve sampled >got
cmp -s want got
ok $? "samples during training do not change the losses"
train --root accum --set train.micro_batch=4 --set model.dropout=0
curve accum | cut -c1-6 >a
train --root accum2 --set train.micro_batch=1 --set model.dropout=0
curve accum2 | cut -c1-6 >b
cmp -s a b
ok $? "the micro-batch does not change the losses" "$(diff a b)"
train --root dropped --set train.micro_batch=4
curve dropped | cut -c1-6 >b
cut -c1-6 want >a
cmp -s a b
ok $? "the micro-batch does not change the losses with dropout" "$(diff a b)"

# whoever goes back goes another way: nothing of the old one is taken for it
weights() { sha256sum <"$1/model.safetensors"; }
train --root fork --set checkpoint.folder=fork/c
mkdir -p fork/c/step-00000012.old/x
was=$(weights fork/c/step-00000012)
train --root fork --set checkpoint.folder=fork/c --set optim.lr=1e-3 \
    --set checkpoint.keep_last=2 --set eval.every=3 --set train.stop_at=11 \
    --resume fork/c/step-00000004 && test ! -e fork/c/step-00000012 &&
    test "$(weights fork/c/step-00000012.old)" = "$was" &&
    test -e fork/c/step-00000011/state.json && test -e fork/c/best/state.json
ok $? "resuming from an earlier checkpoint sets the later ones aside" \
    "$(cat out; ls -l fork/c)"
ls fork/c >want.names
train --root fork --set checkpoint.folder=fork/c --set optim.lr=1e-3
is $? 2 "a training that begins anew in a folder with checkpoints is refused"
ls fork/c | cmp -s - want.names
ok $? "a training that is refused a folder leaves its checkpoints alone" \
    "$(ls fork/c)"

# TensorBoard is told while it trains, and what a resumed run takes back
train --root live --name live --set run.tensorboard=tb --set train.stop_at=6
train --root live --name live --set run.tensorboard=tb \
    --resume live/*/*/artifacts/checkpoints/step-00000004
ok $? "a run writes TensorBoard files and is resumed"
test "$(ls tb/live/events.out.tfevents.* | wc -l)" -eq 2 &&
    gtrack import --root told -f tensorboard tb >out 2>&1 &&
    curve told >got
cut -d' ' -f1 got >a && cut -d' ' -f1 want | cmp -s - a &&
    join got want | awk '{ d = $2 - $3; if (d < 0) d = -d
        if (d > 1e-6) bad = 1 } END { exit bad }'
ok $? \
    "TensorBoard files have every step once, as the store does" \
    "$(cat out; join got want)"

# id 7 is no target: the mean is over the others, of all micro-batches
for b in 1 2 4; do
    train --root mask$b --set data.ignore=7 --set train.micro_batch=$b \
        --set model.dropout=0 --set eval.every=1
    cat mask$b/*/*/metrics/train/grad_norm mask$b/*/*/metrics/val/loss |
        cut -d' ' -f2 | cut -c1-6 >m$b
done
cmp -s m1 m2 && cmp -s m1 m4 && test "$(wc -l <m1)" -eq 24
ok $? "ignored targets weigh the same in any micro-batch" "$(paste m1 m2 m4)"
head -c 400 /dev/zero >padding.bin
train --root padded --set data.train=padding.bin --set data.ignore=0 \
    --set schedule.steps=3
like out '^gtrain: warning: step 1 has no id but data.ignore = 0 to predict' \
    "a step without anything to predict causes a warning"
is "$(grep -c 'to predict' out)" 1 "steps without targets cause one warning"
train --root unjudged --set data.val=padding.bin --set data.ignore=0 \
    --set eval.every=1
is $? 1 "validation without anything to predict is refused"
like out 'padding.bin has no id but data.ignore = 0 to predict' \
    "the message names the validation data without targets"
train --root same --set data.ignore=7 --set data.val=train.bin \
    --set data.order=sequential --set optim.lr=0 --set train.stop_at=1 \
    --set eval.sequences=4 --set model.dropout=0
cat same/*/*/metrics/train/loss same/*/*/metrics/val/loss | cut -d' ' -f2 |
    cut -c1-8 | uniq >got
test "$(wc -l <got)" -eq 1
ok $? \
    "training and validation give one loss where targets are ignored" \
    "$(cat got out)"

# half the bits, nearly the same losses; moments and weights stay whole
for type in bf16 fp16; do
    train --root $type --set train.precision=$type
    curve $type >got
    join want got | awk '{ d = $2 - $3; if (d < 0) d = -d
        if (d > 0.02) bad = 1 } END { exit bad || NR != 12 }'
    ok $? "$type has the losses of fp32, to 0.02" "$(join want got)"
done
grep -h . fp16/*/*/metrics/train/loss_scale | tail -1 |
    awk '{ exit $2 != 65536 }'
ok $? "training in fp16 records its loss scale"
# scale ROOT FROM PRECISION [SET]...: of the step after a checkpoint
scale() {
    root=$1 from=$2 precision=$3
    shift 3
    train --root "$root" --resume "$from" --set train.precision="$precision" \
        --set schedule.steps=13 "$@"
    tail -n 1 "$root"/*/*/metrics/train/loss_scale 2>/dev/null | cut -d' ' -f2
}
is "$(scale rescaled bf16/*/*/artifacts/checkpoints fp16 \
    --set train.loss_scale=4096)" 4096.0 \
    "fp16 begins at its loss scale after a checkpoint of bf16"
is "$(scale kept fp16/*/*/artifacts/checkpoints fp16 \
    --set train.loss_scale=4096)" 65536.0 \
    "fp16 keeps the loss scale of a checkpoint of fp16"
train --root unit --set train.precision=fp16 --set train.loss_scale=1 \
    --set checkpoint.every=3
is "$(scale ones unit/*/*/artifacts/checkpoints fp16)" 1.0 \
    "fp16 keeps a loss scale of 1, if it is that of fp16"
scale unscaled fp16/*/*/artifacts/checkpoints bf16 >/dev/null
grep -q '"loss_scale": 1.0' unscaled/*/*/artifacts/checkpoints/step-*/state.json
ok $? "bf16 has no loss scale after a checkpoint of fp16"
for name in adam sgd lion muon; do
    train --root $name --set optim.name=$name --set optim.lr=3e-3
    curve $name | awk 'NR == 1 { a = $2 } END { exit !($2 < a) }'
    ok $? "the optimizer $name lowers the loss"
done
rows() { # ROOT OPTION...: train with a moment for each row
    train --root "$@" --set optim.name=muon --set optim.muon_rows=yes
}
rows_sum() {
    cat "$1"/*/*/artifacts/checkpoints/step-00000012/*.safetensors | sha256sum
}
rows rows-once && rows rows-twice --set train.stop_at=5 &&
    rows rows-twice --resume auto && grep -aq '"v.h.0.mlp.fc.weight":{[^}]*"shape":\[[0-9]*\]' \
    rows-twice/*/*/artifacts/checkpoints/step-00000012/optim.safetensors &&
    test "$(rows_sum rows-twice)" = "$(rows_sum rows-once)"
ok $? "a training with muon_rows resumes to the last bit" "$(cat out)"
train --root early --set schedule.steps=1000 --set optim.lr=0 \
    --set eval.every=2 --set eval.patience=3
grep -q 'stopping early' out && test "$(curve early | wc -l)" -eq 8
ok $? "training that no longer improves is stopped"
test "$(readlink early/*/*/artifacts/checkpoints/best)" = step-00000002
ok $? "the best checkpoint is marked and kept"
train --root timed --set schedule.steps=100000000 --set train.max_time=300ms \
    --set eval.every=0
status=$?
cat timed/*/*/metrics/train/lr | awk '{ last = $2 } END { exit last > 2e-3 }' &&
    test $status -eq 0
ok $? "a time limit ends a training after its learning rate has fallen"

# an interval may be in each unit; here, a step has 64 tokens
steps_of() { awk '{ printf "%d ", $3 }' intervals/*/*/metrics/val/loss; }
for every in 3 25% "192 tokens" 0.01ms; do
    rm -rf intervals
    train --root intervals --set "eval.every=$every"
    wanted='3 6 9 12 '
    test "$every" != 0.01ms || wanted='1 2 3 4 5 6 7 8 9 10 11 12 '
    is "$(steps_of)" "$wanted" "eval.every = $every validates after its steps"
done
rm -rf intervals
train --root intervals --set eval.every=30% --set train.stop_at=7 &&
    train --root intervals --resume auto --set eval.every=30%
is "$(steps_of)" "4 7 8 11 12 " "a resumed run keeps to the intervals"
rm -rf intervals
train --root intervals --set checkpoint.every=1h
is "$(steps_of)" "6 12 " "an interval of an hour is not over at once"

# a signal: a checkpoint, the status 75, and the rest later
rm -rf stopped
stop_at() {     # stop_at TEXT [SIGNAL]: a training, stopped when it has printed that
    rm -f out
    gtrain --config tiny.ini --root stopped --set schedule.steps=100000 \
        --set eval.every=0 --set checkpoint.every=0 >out 2>&1 &
    pid=$!
    await_line out "$1" $pid
    kill -"${2:-TERM}" $pid
    wait $pid
}
stop_at 'step 1/'
test $? -eq 75
ok $? "SIGTERM ends a training with status 75"
again="gtrain --config tiny.ini --set schedule.steps=100000 --set eval.every=0"
again="$again --set checkpoint.every=0 --root stopped --resume"
like out "stopped by a signal after step .*; '$again auto' resumes it" \
    "a training that was stopped prints the command that resumes it"
unlike out "starting a new run;" "the first training mentions no other run"
ls -d stopped/*/*/artifacts/checkpoints/step-* >/dev/null 2>&1
ok $? "SIGTERM ends a training after a checkpoint"
stop_at 'starting a new run'
like out "run1, which was stopped, resumes with '$again run1'" \
    "a training that begins anew mentions the run that was stopped"
stop_at 'starting a new run' INT
is "$(gtrack -r stopped ls -c status --sort started --tsv --no-header "status = 'KILLED'" |
    tr '\n' ' ')" "PREEMPTED PREEMPTED STOPPED " \
    "a training that is interrupted at the keyboard is called stopped"
stop_at 'starting a new run'
like out "run3, which was stopped, resumes with '$again run3'" \
    "a training that begins anew mentions what a person has stopped"

# nor for the micro-batches of a step, of which it leaves no trace
rm -f out
gtrain --config tiny.ini --root unfinished --set train.batch=100000 \
    --set schedule.steps=100000 >out 2>&1 &
pid=$!
await_line out 'at least' $pid
kill -TERM $pid
wait $pid
is $? 75 "a signal within a step ends training with status 75"
like out "stopping: saving a checkpoint after this micro-batch" \
    "a signal is acknowledged"
like out "at least [0-9.]*[hd].* on this machine; 'gtrain plan'" \
    "a long training begins with how long it takes"
like out "after step 0;" "a signal ends training before the end of a step"
train --root unfinished --resume auto
curve unfinished >got
is "$(diff want got)" "" "a step that a signal interrupted is computed again"

# a second SIGINT, in a micro-batch that would take minutes
rm -f out
gtrain --config tiny.ini --root killed_twice --set train.micro_batch=64 \
    --set train.batch=64 --set train.device=ref --set model.width=512 >out 2>&1 &
pid=$!
await_line out 'tokens in total' $pid
kill -INT $pid
await_line out 'stopping:' $pid
kill -INT $pid 2>/dev/null
wait $pid
is $? 130 "a second SIGINT ends training with status 130"
is "$(gtrack ls --root killed_twice --tsv --no-header --columns status)" KILLED \
    "a second SIGINT marks the run as killed"

# a signal does not wait for a validation, which is then done by who goes on
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    cat train.bin train.bin
done >long.bin
long="--set data.val=long.bin --set eval.at_start=yes --set eval.sequences=0
    --set eval.every=2 --set schedule.steps=2"
hasty() {       # hasty STEP [OPTION]...: stopped when its output has STEP
    at=$1
    shift
    rm -f out
    # shellcheck disable=SC2086 # words
    gtrain --config tiny.ini --root hasty $long "$@" >out 2>&1 &
    pid=$!
    await_line out "$at" $pid
    kill -TERM $pid
    wait $pid
}
# shellcheck disable=SC2086 # words
train --root patient $long
hasty 'FLOP per token'
test $? -eq 75 && grep -q 'after step 0;' out
ok $? "a signal ends the first validation"
hasty 'step 2/2' --resume auto
test $? -eq 75 && grep -q 'after step 2;' out
ok $? "a signal ends the last validation"
# shellcheck disable=SC2086 # words
train --root hasty $long --resume auto
# shellcheck disable=SC2086 # words
train --root hasty $long --resume auto
cut -d ' ' -f 2,3 patient/*/*/metrics/val/loss >want
cut -d ' ' -f 2,3 hasty/*/*/metrics/val/loss | cmp -s - want
ok $? \
    "a resumed run does the interrupted validation once" \
    "$(cat want hasty/*/*/metrics/val/loss)"

# a disk that is full for a while costs checkpoints, not the training
rm -rf out full
gtrain --config tiny.ini --root lost --set checkpoint.folder=full \
    --set schedule.steps=1000000 --set eval.every=0 >out 2>&1 &
pid=$!
await_path 'full/step-*' $pid
i=0
until mv full gone.$((i += 1)) 2>/dev/null &&
    (true >full) 2>/dev/null ||
    ! kill -0 $pid 2>/dev/null; do :; done
await_line out 'training continues without it' $pid
rm -f full && mkdir full
await_path 'full/step-*' $pid
kill -TERM $pid
wait $pid
test $? -eq 75 && ls full/step-*/state.json >/dev/null
ok $? "a checkpoint that cannot be written is tried again at the next"
awk '{ exit !($3 % 4 == 0) }' lost/*/*/metrics/event/checkpoint_lost
ok $? "the run records which checkpoint was lost" "$(ls lost/*/*/metrics/event)"
perl -e '$SIG{XFSZ} = "IGNORE"; exec "/bin/sh", "-c", "ulimit -f 40; exec @ARGV"
    ' gtrain -q --config tiny.ini --root half --set eval.every=0 \
    --set checkpoint.folder=cut >out 2>&1
test $? -eq 1 && test "$(grep -c 'continues without it' out)" -eq 2 &&
    tail -n 1 out | grep -q '^gtrain: .*checkpoint of step 12: .*too large'
ok $? "a last checkpoint that cannot be written is an error"
test -d cut && test -z "$(ls -A cut)"
ok $? "a checkpoint that cannot be written leaves no files" "$(ls -lA cut)"

# two jobs with one folder, from before the first checkpoint on
gtrain --config tiny.ini --root half --name first --set schedule.steps=1000000 \
    --set eval.every=0 --set checkpoint.folder=held >log 2>&1 &
job=$!
await_checkpoint held $job
train --root half --name second --set checkpoint.folder=held
test $? -eq 7 && tail -n 1 out | grep -q 'another running job uses held' &&
    ls held | grep -q '^step-'
ok $? "a checkpoint folder in use by another job is refused"
train --root half --name first --resume auto
test $? -eq 7 && grep -q "run first: it is being written by process $job" out &&
    test "$(gtrack -r half ls --tsv --no-header -c status "name = 'first'")" = \
        RUNNING
ok $? "the run of another job is refused, and stays running"

# a job that is stopped, whose run and folder another one takes
kill -STOP $job
gtrain --root half --steal --resume held >steal 2>&1 &
thief=$!
await_line steal 'resuming after' $thief
kill -CONT $job
wait $job
test $? -eq 7 && tail -n 1 log | grep -q 'first: the run is now written by'
ok $? "a job whose run was stolen ends with status 7 when it goes on" \
    "$(tail -n 5 log steal)"
kill -TERM $thief
wait $thief
test $? -eq 75 && gtrack -r half metrics --tsv --no-header first train/loss |
    cut -f1 | sort | uniq -d >twice && test ! -s twice && test ! -e held/.lock
ok $? "the thief goes on, and no step of the run is there twice" \
    "$(head -n 3 twice; tail -n 5 steal)"

# what cannot be
bad() {         # bad STATUS NAME PATTERN [OPTION]...
    want=$1 name=$2 pattern=$3
    shift 3
    train --root bad "$@"
    got=$?
    test $got -eq "$want" && grep -q -- "$pattern" out &&
        test "$(wc -l <out)" -eq 1
    ok $? "$name" "status $got: $(cat out)"
}
bad 2 "an unknown setting is refused, with the one meant" \
    'did you mean optim.lr' --set optim.lrr=1
bad 2 "the last part of a setting is recognised" 'did you mean optim.lr' --set lr=1
bad 2 "a device of another name is recognised" 'did you mean cuda' --set train.device=gpu
gtrain tiny.ini >out 2>&1
test $? = 2 && grep -q "did you mean '--config tiny.ini'?" out
ok $? "a configuration in place of a command is recognised"
bad 2 \
    "a value of the wrong type is refused" \
    'optim.lr expects a number' --set optim.lr=fast
bad 2 \
    "an unknown word for a setting is refused" \
    'expects cosine, linear, ' --set schedule.kind=sine
bad 2 \
    "a width that the heads do not divide is refused" \
    'model.width' --set model.heads=3
bad 2 "products in fp8 are refused with fp32" \
    'train.fp8: requires train.precision = bf16' --set train.fp8=head
bad 2 "products in fp8 are refused with a width that is not a multiple of 16" \
    'train.fp8: requires that model.width is a multiple of 16, not 24' \
    --set train.fp8=head --set train.precision=bf16 --set model.width=24
bad 3 "missing data are named" 'nowhere' --set data.train='nowhere_*.bin'
bad 2 "a final learning rate above optim.lr is refused" \
    'schedule.min_lr: 0.02 is above optim.lr = 0.01' \
    --set schedule.min_lr=2e-2
bad 2 "a warm-up from above the peak is refused" \
    'schedule.warmup_lr: 1 is above optim.lr = 0.01' \
    --set schedule.warmup_lr=1
bad 2 "steps in place of fractions are refused" \
    'schedule.at: 30 is not a fraction of all steps, 0 to 1' \
    --set schedule.kind=step --set schedule.at=30,60
bad 2 "a bound is told as it is written" \
    'from 0 to 0.9999999, not .1' --set optim.beta1=1
mkdir foreign
echo '{}' >foreign/config.json
bad 3 "resuming from a model of Hugging Face is refused" \
    "foreign holds no checkpoint; 'gtrain import' makes one of it" \
    --resume foreign
bad 1 "resuming from a file is refused" \
    'tiny.ini is a file; a checkpoint is a folder' --resume tiny.ini
bad 2 "a warm-up and a decay longer than the schedule are refused" \
    'schedule.decay: 8 steps, with 6 of warm-up' --set schedule.kind=wsd \
    --set schedule.warmup=6 --set schedule.decay=8
bad 2 "zero ranks are refused" 'expects 1 to 1024' --ranks 0
bad 2 "an unknown device is named" 'abacus' --set train.device=abacus
touch flat
bad 1 "a TensorBoard folder that cannot be made is named" 'flat/' \
    --set run.tensorboard=flat/tb
bad 2 \
    "a batch ramp that begins above the batch is refused" \
    'more than the 4 of the batch' \
    --set train.ramp=2 --set train.ramp_from=1000
bad 2 "a beta2 of 1 is refused" 'optim.beta2 expects' --set optim.beta2=1
bad 2 "patience without validation is refused" 'eval.patience' --set data.val= \
    --set eval.patience=2
bad 2 "fewer tokens than one step has are refused" 'schedule.tokens: 1 tokens' \
    --set schedule.tokens=1
bad 2 \
    "HellaSwag without a tokenizer is refused before the first step" \
    'eval.tasks: questions need a tokenizer' \
    --set eval.tasks=hellaswag --set eval.tasks_every=9
bad 1 "a checkpoint folder that cannot be made is named at the start" \
    'checkpoint.folder' -q --set checkpoint.folder=flat/ckpt
printf '[optim]\nlr = 1\n lrr = 2\n' >bad.ini
gtrain --config bad.ini >out 2>&1
test $? -eq 2 && grep -q '^gtrain: bad.ini:3: ' out
ok $? "an error in a settings file is reported with its line"
# a loss that is not finite
train --root nan --set optim.lr=1000 --set train.precision=fp16 \
    --set eval.every=0
test $? -eq 5 && step=$(sed -n 's/.*warning: \(step [0-9]*\): .*/\1/p' out) &&
    test -n "$step" && tail -1 out | grep -q "^gtrain: $step: the .* is [ni]"
ok $? "a loss that is not finite ends a training with status 5"
train --root skip --set optim.lr=1000 --set train.precision=fp16 \
    --set eval.every=0 --set train.on_nonfinite=skip --set train.max_skips=12
ok $? "train.on_nonfinite=skip skips a loss that is not finite"
unlike out "-nan" "a loss that is not a number is printed without a sign"
# looking for spikes, the host decides about each update; else the device does
weights() {
    find "$1" -name '*.safetensors' -exec cksum {} + | cut -d' ' -f1,2 | sort
}
train --root decided --set optim.lr=1000 --set train.precision=fp16 \
    --set eval.every=0 --set train.on_nonfinite=skip --set train.max_skips=12 \
    --set train.on_spike=skip --set train.spike_loss=1e6 \
    --set train.spike_norm=1e6
weights decided >want && weights skip >is && test -s is && cmp -s is want
ok $? "updates that the device skips by itself leave the weights of other skips"
train --root hopeless --set optim.lr=1000 --set optim.clip=0 \
    --set train.on_nonfinite=skip --set train.max_skips=3 --set eval.every=0
test $? -eq 5 && test "$(grep -c 'skipping the step' out)" -eq 3
ok $? "more skipped steps in a row than train.max_skips end a training with status 5"

# a model that diverged cannot be sampled from
seq 1 400 >text.txt
gdata bpe --vocab 280 -o tok text.txt >out 2>&1
train --root diverged --set optim.lr=1000 --set optim.clip=0 \
    --set train.on_nonfinite=skip --set train.max_skips=99 --set sample.every=5 --set eval.every=0 \
    --set data.tokenizer=tok --set model.vocab=300 --set data.train=train.bin
test $? -eq 0 && ls -d diverged/*/*/artifacts/checkpoints/step-00000012 >/dev/null
ok $? "a training whose model diverged is sampled from without a crash"

train --root odd --set optim.lr=1000 --set train.precision=fp16 \
    --set eval.every=0 --detect-anomaly
test $? -eq 5 && grep -q ', computed by ' out
ok $? "--detect-anomaly names the operation that failed first"
gtrack ls -r odd -c status,reason --no-header >out
like out "FAILED${tab}.*, computed by " "the run of a training has the reason why it failed"
printf '\101\000\377\377' >>val.bin
bad 1 "a token outside the vocabulary is found before the first step" \
    'val.bin'

train --root back --set data.val= --set optim.lr=1000 --set train.precision=fp16 \
    --set eval.every=0 --set checkpoint.every=1 --set train.on_nonfinite=rollback
test $? -eq 5 && grep -q 'rolled back to step .* 5 times' out
ok $? "repeated rollbacks end with status 5"
gtrain --show-config >all.ini 2>out && gtrain --config all.ini --show-config |
    sed 's/ (from .*)//' >again.ini
cmp -s all.ini again.ini
ok $? "the output of --show-config reads back unchanged"
gtrain devices >free.txt && OMP_PROC_BIND=true gtrain devices >tied.txt
cmp -s free.txt tied.txt
ok $? "bound threads are as many as free ones" "$(cat free.txt tied.txt)"
done_testing
