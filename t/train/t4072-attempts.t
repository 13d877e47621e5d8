#!/bin/sh
# What an attempt changes when it resumes a run is shown, and replayed.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
unset GTRAIN_ISA
encode_letters data
small_ini data.tokenizer=tok "data.train=data_*.bin" train.micro_batch=2 \
    train.batch=4 schedule.steps=40 checkpoint.every=10 checkpoint.keep_last=9 \
    >c.ini

# train NAME ARGUMENT...; what is printed is in out
train() {
    name=$1
    shift
    gtrain --config c.ini --name "$name" "$@" >out 2>&1
}
# resumed NAME ARGUMENT...: a run that stops after 17 steps, and is resumed
resumed() {
    train "$1" --set train.stop_at=17 && train "$@" --resume "$1"
}
# replay NAME STATUS ARGUMENT...: what it prints is in out and err
replay() {
    name=$1 status=$2
    shift 2
    gtrain replay "$@" --tsv --no-header >out 2>err
    is $? "$status" "$name" "$(cat err)"
}
rows() { cut -f1,2,6 out | tr '\t\n' ' ;'; }

check "a run is resumed with another rate" resumed lr --set optim.lr=1e-3
replay "both attempts of a run with two rates are certified" 0 lr --steps 1:40
is "$(rows)" "1-17 0 equal;18-40 17 equal;" \
    "the steps are divided where the run was resumed"
like err "lr: certified: 280 numbers and 5 checkpoints are equal to the last bit" \
    "the verdict is about both attempts"
replay "a sample of both attempts is certified" 0 lr --sample 6
check "a run is resumed by two ranks" resumed ranks --ranks 2
replay "a run that two ranks resumed is certified to the last bit" 0 ranks \
    --steps 12:25
is "$(rows)" "12-17 10 equal;18-25 17 equal;" "each attempt has its own ranks"
check "a run is resumed with other micro-batches and threads" \
    resumed micro --set train.micro_batch=1 --set train.threads=2
replay "a run with two kinds of micro-batches is certified" 0 micro --steps 1:40
check "a run is extended" train longer
check "a run goes on with more steps" \
    train longer --resume longer --set schedule.steps=50
replay "a run that was extended is certified" 0 longer --steps 31:50
is "$(rows)" "31-40 30 equal;41-50 40 equal;" "each part has its own schedule"
train code --set train.stop_at=17 &&
    GTRAIN_ISA=c gtrain --config c.ini --name code -q --resume code >out 2>&1
ok $? "a run is resumed with other instructions"
check "a run is resumed with fewer points" resumed sparse --set run.log_every=5
replay "a run with fewer points from a step on is certified" 0 sparse --steps 1:40

# what a change breaks
for change in "train.seed=5|train.seed is 5, but the checkpoint was written with [0-9]*: windows are read" \
    "data.order=random|data.order is random, but .*: windows are read in another order" \
    "train.precision=bf16|train.precision is bf16, but .*: losses are rounded"; do
    resumed breaks --set "${change%%|*}"
    like out "${change#*|}" "resuming with ${change%%|*} says what breaks"
    gtrack rm breaks >rm.out 2>&1
done

# nothing to do
config=$(gtrack where longer)/artifacts/config.ini
cp "$config" before.ini
check "a run that has ended is resumed with another rate" \
    train longer --resume longer --set schedule.steps=50 --set optim.lr=1
cmp before.ini "$config" >out 2>&1
ok $? "the settings of a run without a step to do stay" "$(cat out)"
gtrack show longer --tsv >out
unlike out "attempt.3" "nothing is said to have changed where nothing was computed"
replay "a run that was resumed after its last step is certified" 0 longer \
    --steps 36:45

# what was changed is shown
gtrack ls lr --tsv --no-header -c changed >out
like out "^optim.lr = 0.0006; 0.001 from step 18$" \
    "gtrack ls has a changed setting and its step"
gtrack ls lr sparse --aligned >out
like out "changed" "gtrack ls shows the column where a run has one"
gtrack show lr --aligned >out
like out "optim.lr.* 0.0006; 0.001 from step 18" "gtrack show has both values"
gtrack diff lr code >out
like out "changed.*optim.lr = 0.0006; 0.001 from step 18" "gtrack diff has both values"
echo 'With a rate of <!-- gtrack: lr | optim.lr -->0.0006<!-- /gtrack -->.' >r.md
gtrack claims r.md >out 2>err
like out "equal; the run had 0.0006; 0.001 from step 18" "gtrack claims has both values"
cat >r.md <<'END'
<!-- gtrack: lr | train/loss | .1f -->5.3<!-- /gtrack -->
<!-- gtrack: lr | perf/step_ms | .1f -->5.3<!-- /gtrack -->
END
gtrack claims --fill r.md >out 2>err
gtrack claims --tsv --no-header r.md >out 2>err
is "$(cut -f3,6 out | tr '\t\n' ' ;')" \
    "train/loss equal;perf/step_ms equal, not proved;" \
    "gtrack claims marks a number that is not computed again"
like err "2 values as the runs say; 1 of metrics that gtrain replay does not compute" \
    "the verdict counts what is not proved"
is "$(gtrack ls --tsv --no-header -c name 'changed like "%optim.lr%"')" lr \
    "runs with a changed setting can be found"

# bisect knows what each attempt had
check "a run is trained without a stop" train plain
gtrain bisect plain ranks --tsv --no-header >out 2>err
like err "the likeliest cause: kernel, derived.ranks" "bisect names the ranks"
gtrain bisect plain lr --tsv --no-header >out 2>err
like err "the likeliest cause: setting, optim.lr" "bisect names the changed rate"
gtrain bisect plain code --tsv --no-header >out 2>err
like err "the likeliest cause: kernel, derived.instructions" \
    "bisect names the instructions of the attempt"

# settings that are shown, but were not those of training
param=$(gtrack where plain)/params/optim.lr
cp "$param" kept
printf 0.0001 >"$param"
replay "a parameter that was changed is found" 1 plain
like err "the parameter optim.lr of plain is 0.0001, but its config.ini has 0.0006" \
    "the parameter and both values are named"
cp kept "$param"
gtrack tag lr attempt.2.optim.lr=0.0006
replay "the mark of a changed rate cannot be taken away" 1 lr

# other instructions: from checkpoint to checkpoint, up to rounding
GTRAIN_ISA=c replay "other instructions certify a run up to rounding" 0 plain \
    --steps 1:40
is "$(rows)" "1-40 0 equal up to rounding;" "the row says so"
like out "derived.instructions was [a-z0-9]*, here it is c" \
    "the row names the instructions"
is "$(cut -f4 out)" 3 "each checkpoint on the way is compared and used"
gtrain replay code --steps 1:40 --tsv --no-header >out 2>err
is "$? $(rows)" "0 1-17 0 equal;18-40 17 equal;" \
    "each attempt is computed with its own instructions" "$(cat err)"
plain=$(gtrack where plain)
loss=$plain/metrics/train/loss
cp "$loss" kept
awk '$3 == 15 { $2 -= 0.1 } { print }' kept >"$loss"
GTRAIN_ISA=c replay "other instructions find a false loss near a checkpoint" 1 \
    plain --steps 1:40
like err "plain differs at step 15: train/loss is" "the step is named"
cp kept "$loss"
mkdir away
mv "$plain"/artifacts/checkpoints/step-000000[123]0 away
awk '$3 == 35 { $2 -= 0.1 } { print }' kept >"$loss"
GTRAIN_ISA=c replay "far from a checkpoint, a false loss is found, too" 1 plain --steps 1:40
like err "plain differs at step 35: train/loss is" "the step far from it is named"
cp kept "$loss"
mv away/* "$plain/artifacts/checkpoints"
lr=$(gtrack where lr)/artifacts/checkpoints
mv "$lr/step-00000017" "$lr/step-00000020" away
gtrack tag lr attempt.2.optim.lr=0.001
replay "the weights of a resume are computed if its checkpoint is gone" 0 lr \
    --steps 19:25
is "$(rows)" "17 10 equal;19-25 17 equal;" \
    "the step before the resume is compared, too"
GTRAIN_ISA=c replay "weights that are only near are not handed over" 3 lr \
    --steps 1:25
is "$(rows)" "1-17 0 equal up to rounding;18-25 10 cannot tell;" \
    "the steps before the resume are certified"
like err "training was resumed at step 18, and there is no checkpoint from there" \
    "the missing checkpoint is named"

# where training explodes, so does rounding, even next to a checkpoint
train steep --set optim.lr=3
GTRAIN_ISA=c replay "of a run that explodes, it cannot tell" 3 steep --steps 1:40
like err "cannot tell: step [0-9]* is [0-9]* steps after a checkpoint, and" \
    "the distance and the instructions are named"
gtrack bundle steep -o steep.tar --data >out 2>err &&
    GTRAIN_ISA=c gtrack verify steep.tar --sample 40 --tsv --no-header >out 2>err
is $? 3 "gtrack verify does not pass what cannot be told" "$(cat err)"
like out "^replay${tab}steep${tab}unknown${tab}.*cannot tell: step [0-9]* is [0-9]* steps" \
    "gtrack verify does not call it false, either"

# A GPU and a CPU round differently; the emulator computes as a GPU does.
if ! thorough; then
    skip "a CPU and a GPU certify each other's runs" "make check-all runs this"
    done_testing
    exit
fi
emulated() { "$build/gtrain-emulated" "$@"; }
emulated --config c.ini --name gpu -q --set train.device=cuda \
    --set train.precision=fp32 --set checkpoint.every=5 --set schedule.steps=12 >out 2>&1
ok $? "a run is trained on an emulated GPU" "$(cat out)"
replay "a CPU certifies the run of a GPU up to rounding" 0 gpu --steps 1:12 --device cpu
is "$(rows)" "1-12 0 equal up to rounding;" "the row says that it is not to the last bit"
like out "derived.device was cuda, here it is cpu" "the row names the devices"
if gtrain devices --tsv | grep -q '^cuda'; then
    skip "without a GPU, the CPU certifies an archive" "there is a GPU"
else
    gtrack bundle gpu -o gpu.tar --data >out 2>&1 &&
        gtrack verify gpu.tar --replay --tsv --no-header >out 2>err
    is $? 0 "without a GPU, the CPU certifies an archive" "$(cat err)"
    like out "^replay${tab}gpu${tab}passed${tab}.*derived.device was cuda, here it is cpu" \
        "the row of the archive names the devices"
fi
emulated replay gpu --steps 1:12 >out 2>err
is "$? $(grep -c 'equal to the last bit' err)" "0 1" "a GPU certifies its own run to the last bit"
train cpu --set schedule.steps=12
emulated replay cpu --steps 1:12 --device cuda --tsv --no-header >out 2>err
is "$? $(rows)" "0 1-12 0 equal up to rounding;" "a GPU certifies the run of a CPU up to rounding"
like out "derived.device was cpu, here it is cuda" "the row names these devices, too"
loss=$(gtrack where gpu)/metrics/train/loss
awk '$3 == 7 { $2 -= 0.1 } { print }' "$loss" >kept
cp kept "$loss"
replay "a CPU finds a false loss of a GPU" 1 gpu --steps 1:12 --device cpu
like err "gpu differs at step 7: train/loss is" "the step of the GPU is named"
emulated --config c.ini --name wild -q --set train.device=cuda --set optim.lr=0.3 \
    --set train.precision=bf16 --set train.deterministic=yes --set schedule.steps=8 >out 2>&1
replay "a run of a GPU that explodes is not called false" 3 wild --steps 1:8 --device cpu
like err "cannot tell: step [2-8] is [2-8] steps after a checkpoint, and derived.device was cuda" \
    "the reason names the device"
done_testing
