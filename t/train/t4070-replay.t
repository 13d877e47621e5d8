#!/bin/sh
# gtrain replay: it certifies what training computed, and finds what changed.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
encode_letters data
ok $? "a text is encoded"
small_ini model.dropout=0.1 data.tokenizer=tok "data.train=data_*.bin" \
    train.micro_batch=2 train.batch=4 schedule.steps=40 checkpoint.every=10 \
    checkpoint.keep_last=2 >c.ini
gtrain --config c.ini --name whole -q >out 2>&1
ok $? "a small model is trained"
artifacts=$(dirname "$(dirname "$(find mlruns -path '*/checkpoints/step-00000040')")")

# replay NAME STATUS [ARGUMENT]...: what it prints is in out and err
replay() {
    name=$1 status=$2
    shift 2
    gtrain replay "$@" --tsv --no-header >out 2>err
    is $? "$status" "$name"
}
row() { cut -f1-3,6 out | tr '\t' ' '; }

replay "the end of a run is certified" 0 whole
is "$(row)" "31-40 30 70 equal" "the steps after the checkpoint before are compared"
is "$(cut -f4 out)" 1 "the weights and moments of a checkpoint are compared"
like err "certified: 70 numbers and 1 checkpoint are equal to the last bit" \
    "the verdict counts what is equal"
replay "steps are certified from the initial weights" 0 whole --steps 3:24
is "$(row)" "3-24 0 154 equal" "steps before the first checkpoint start at step 0"
is "$(cut -f4 out)" 2 "removed checkpoints are compared by their sums"
replay "the last steps are certified" 0 whole --last 2
is "$(row)" "39-40 30 14 equal" "only the last steps are compared"
replay "a sample of steps is certified" 0 whole --sample 5
is "$(cut -f1 out | awk '{ print int(($1 - 1) / 8) }' | tr '\n' ' ')" \
    "0 1 2 3 4 " "a step is drawn from each fifth of the run"
cp out first
challenge=$(sed -n 's/.*--challenge=//p' err)
replay "a sample can be drawn again" 0 whole --sample 5 --challenge "$challenge"
is "$(cat out)" "$(cat first)" "a challenge that is given again draws the same steps"
for i in 1 2 3; do
    gtrain replay whole --sample 5 --tsv --no-header 2>/dev/null | cut -f1
done | sort -u >drawn
ok "$(test "$(wc -l <drawn)" -gt 5; echo $?)" \
    "without a challenge nobody knows which steps are drawn"
replay "a challenge without a sample is refused" 2 whole --challenge x

(cd "$artifacts" && sha256sum --quiet --ignore-missing -c checkpoints.sha256) \
    >out 2>&1
ok $? "sha256sum accepts the checkpoints by the sums of the run"
is "$(cd "$artifacts" && grep -c 'checkpoints/step-.*/state.json' checkpoints.sha256)" \
    "$(grep -c model.safetensors "$artifacts/checkpoints.sha256")" \
    "the sums of the run cover the state of each checkpoint"

# A stopped and resumed run
gtrain --config c.ini --name parts -q --set train.stop_at=17 >out 2>&1 &&
    gtrain --config c.ini --name parts -q --resume auto \
        --set train.stop_at=0 >out 2>&1
ok $? "a run is stopped and resumed"
replay "a run is certified across its resume" 0 parts --steps 15:25
is "$(row)" "15-25 0 77 equal" "no step is divided where nothing has changed"

gtrain --config c.ini --name pair -q --ranks 2 --set train.batch=4 >out 2>&1
ok $? "a model is trained by two ranks"
replay "a run of two ranks is certified by two ranks" 0 pair
is "$(row)" "31-40 30 70 equal" "rank 0 alone prints the rows"
replay "one rank certifies a run of two up to rounding" 0 pair --ranks 1
like err "up to rounding.*derived.ranks was 2, here it is 1" \
    "gtrain says why the bits may differ"

gtrain --config c.ini --name skips -q --set train.on_spike=skip \
    --set train.spike_loss=0.5 --set train.spike_window=8 >out 2>&1
ok $? "a run skips steps"
check "steps are skipped indeed" gtrack metrics skips event/skipped
replay "skipped steps are skipped again" 0 skips --steps 1:40

gtrain --config c.ini --name rounded -q --set train.precision=bf16 \
    --set optim.moments=bf16 --set optim.masters=bf16 >out 2>&1
ok $? "a model with master weights in bf16 is trained"
replay "a run with master weights in bf16 is certified from its checkpoint" 0 \
    rounded
is "$(row)" "31-40 30 70 equal" "weights and moments in bf16 are compared"
replay "a run with master weights in bf16 is certified from its beginning" 0 \
    rounded --steps 1:12

# Points that are missing or too many are found.
loss=${artifacts%/artifacts}/metrics/train/loss
cp "$loss" points
edit() {        # edit SED: the points of the run, changed
    sed "$1" points >"$loss"
    rm -f "${artifacts%/artifacts}"/.gtrack/*.pack mlruns/.gtrack/index*
}
edit 7d
replay "a point that was removed is found" 1 whole
like err "whole has no loss of step 7" "the step without a point is named"
edit '$d'
replay "a missing end is found" 1 whole
like err "no loss of step 40, but trained until step 40" "the end is named"
edit '${p;s/40$/41/;}'
replay "a point after the last step is found" 1 whole
like err "a loss of step 41, which is none of its steps" "the step is named"
cp points "$loss"

# What training validated is computed again, and what is not is named.
gtrain --config c.ini --name checked -q --set "data.val=data_*.bin" \
    --set eval.every=10 --set eval.sequences=4 >out 2>&1
ok $? "a model is trained and validated"
replay "a run with validation is certified" 0 checked --steps 1:40
is "$(row)" "1-40 0 292 equal" "the numbers of validation are compared"
checked=$(gtrack where checked)/metrics
cp "$checked/val/loss" validated
sed -i '/ 20$/s/^\([0-9]*\) [^ ]*/\1 1.5/' "$checked/val/loss"
replay "a validation loss that was changed is found" 1 checked --steps 11:20
like err "checked differs at step 20: val/loss is .*, but the run recorded 1.5" \
    "the step of the changed validation loss is named"
gtrack fsck --checkpoints --tsv checked >out 2>err
is "$?${tab}$(cut -f 3 out | tail -n 1)" "1${tab}metrics/val/loss" \
    "fsck finds it without computing anything"
cp validated "$checked/val/loss"
mkdir "$checked/hellaswag"
cp "$checked/val/bpb" "$checked/hellaswag/acc"
replay "steps elsewhere are certified" 0 checked --steps 21:40
like err "equal to the last bit; not computed again: hellaswag/acc$" \
    "the metrics that are not computed again are named"

# A checkpoint of another run is found.
gtrain --config c.ini --name other -q --set train.seed=9 >out 2>&1
ok $? "another model is trained"
other=$(gtrack where other)/artifacts/checkpoints/step-00000040
mine=$artifacts/checkpoints/step-00000040
mv "$mine" kept
cp -r "$other" "$mine"
for command in 'eval whole' 'eval whole@40' 'sample whole' 'export whole -o exported' \
    'chat whole'; do
    gtrain $command </dev/null >out 2>err
    is $? 1 "a run does not use the weights of another: $command"
    like err "step-00000040 is not a checkpoint that this run wrote" \
        "the foreign checkpoint is named: $command"
done
gtrain eval "$mine" --data 'data_*.bin' >out 2>err
is $? 0 "the folder of a foreign checkpoint can be named"
gtrack fsck whole >out 2>&1
is $? 0 "fsck reads no checkpoints unless asked to"
gtrack fsck --checkpoints --tsv whole >out 2>err
is $? 1 "fsck finds the foreign checkpoint"
like out "step-00000040/model.safetensors${tab}its SHA-256 is not that of" \
    "fsck names the file"
rm -r "$mine"
mv kept "$mine"
gtrack fsck --checkpoints >out 2>&1
ok $? "fsck finds nothing in what training wrote"
cp -r "$other" "$artifacts/checkpoints/step-00000039"
gtrack fsck --checkpoints --tsv whole >out 2>err
like out "step-00000039/model.safetensors${tab}it is not in checkpoints.sha256" \
    "fsck names a checkpoint that was added"
rm -r "$artifacts/checkpoints/step-00000039"

# What has changed is found.
replay "another learning rate is found" 1 whole --set optim.lr=1e-3
like err "whole differs at step 31: train/lr is .*, but the run recorded" \
    "the first step that differs is named"
replay "another seed is found" 1 whole --steps 1:3 --set train.seed=2
replay "another batch is found" 1 whole --set train.batch=8
like err "derived.tokens_per_step is 64, but the settings give 128" \
    "the sizes of the steps are named"
loss=$(find mlruns -path "*$(basename "$(dirname "$artifacts")")/metrics/train/loss")
cp "$loss" saved
awk '$3 == 35 { $2 += 1e-9 } { print }' saved >"$loss"
replay "a loss that was changed in the store is found" 1 whole
like err "differs at step 35: train/loss" "the step of the changed loss is named"
cp saved "$loss"

cp "$artifacts/checkpoints.sha256" saved
awk '/00000040.model/ { sub(/^./, substr($1, 1, 1) == "0" ? "1" : "0") } { print }' \
    saved >"$artifacts/checkpoints.sha256"
replay "a sum of other weights is found" 1 whole
like err "step 40: the weights are not those of the checkpoint" \
    "the checkpoint that differs is named"
cp saved "$artifacts/checkpoints.sha256"

printf x | dd of="$artifacts/checkpoints/step-00000030/model.safetensors" bs=1 \
    seek=900 conv=notrunc 2>/dev/null
replay "a damaged checkpoint is not used" 0 whole
like err "skipping .*step-00000030.*is damaged" "the damaged checkpoint is named"

mkdir away
mv data[_.]* away
replay "a run without its data cannot be replayed" 3 whole
like err "data.train" "the setting of the missing data is named"
tail -c +3 text.txt >other.txt
gdata encode --tokenizer tok -o data other.txt >out 2>&1
replay "a run with other data cannot be replayed" 1 whole --steps 1:2
like err "cannot replay whole: data.train is not what the run had" \
    "the data are named as the reason"
mv away/* .

mkdir -p sub
(cd sub && gtrain replay whole --root ../mlruns --last 1 >../out 2>../err)
is $? 3 "a run is not replayed in another folder than that of its data"
like err "the paths of the run are relative to $dir, so change to that folder" \
    "the folder is named"

replay "a run whose rate depends on the clock cannot be replayed" 1 whole \
    --set train.max_time=1h
like err "train.max_time makes the learning rate depend on the clock" \
    "the setting is named as the reason"
replay "steps in descending order are refused" 2 whole --steps 9:3
replay "two choices of steps are refused" 2 whole --steps 1:3 --last 2
replay "a run that does not exist is not found" 3 nobody
done_testing
