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
is "$(row)" "31-40 30 20 equal" "the steps after the checkpoint before are compared"
is "$(cut -f4 out)" 1 "the weights and moments of a checkpoint are compared"
like err "certified: 20 numbers and 1 checkpoint are equal to the last bit" \
    "the verdict counts what is equal"
replay "steps are certified from the initial weights" 0 whole --steps 3:24
is "$(row)" "3-24 0 44 equal" "steps before the first checkpoint start at step 0"
is "$(cut -f4 out)" 2 "removed checkpoints are compared by their sums"
replay "the last steps are certified" 0 whole --last 2
is "$(row)" "39-40 30 4 equal" "only the last steps are compared"
replay "a sample of steps is certified" 0 whole --sample 5
is "$(wc -l <out)" 5 "each drawn step has a row"
cp out first
replay "the sample of a run is always the same" 0 whole --sample 5
is "$(cat out)" "$(cat first)" "a second sample draws the same steps"

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

gtrain --config c.ini --name pair -q --ranks 2 --set train.batch=4 >out 2>&1
ok $? "a model is trained by two ranks"
replay "a run of two ranks is certified by two ranks" 0 pair
is "$(row)" "31-40 30 20 equal" "rank 0 alone prints the rows"
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
is "$(row)" "31-40 30 20 equal" "weights and moments in bf16 are compared"
replay "a run with master weights in bf16 is certified from its beginning" 0 \
    rounded --steps 1:12

# What has changed is found.
replay "another learning rate is found" 1 whole --set optim.lr=1e-3
like err "whole differs at step 3[12]: train/loss is .*, but the run recorded" \
    "the first step that differs is named"
replay "another seed is found" 1 whole --steps 1:3 --set train.seed=2
replay "another batch is found" 2 whole --set train.batch=8
like err "a step has 128 tokens, but those of the run had 64" \
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
like err "cannot replay whole: data.train is not what the run was trained with" \
    "the data are named as the reason"
mv away/* .

replay "a run whose rate depends on the clock cannot be replayed" 1 whole \
    --set train.max_time=1h
like err "train.max_time makes the learning rate depend on the clock" \
    "the setting is named as the reason"
replay "steps in descending order are refused" 2 whole --steps 9:3
replay "two choices of steps are refused" 2 whole --steps 1:3 --last 2
replay "a run that does not exist is not found" 3 nobody
done_testing
