#!/bin/sh
# Training that starts from the model of another run (train.from).
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 4000 >train.bin
rhythm 600 >val.bin
small_ini model.vocab=32 model.vocab_multiple=1 data.train=train.bin \
    data.val=val.bin train.micro_batch=2 train.batch=4 schedule.steps=12 \
    eval.every=4 eval.at_start=yes sample.every=0 checkpoint.every=4 \
    checkpoint.keep_last=9 train.deterministic=yes >tiny.ini
train() { gtrain --config tiny.ini -q "$@" >out 2>&1; }
# value RUN METRIC STEP
value() { gtrack metrics "$1" "$2" --tsv --no-header | awk -v s="$3" '$1 == s { print $2 }'; }
weights() { sha256sum <"$(gtrack where "$1")/artifacts/checkpoints/$2/model.safetensors"; }
tag() { cat "$(gtrack where "$1")/tags/$2"; }

train -n base
ok $? "a model is trained"
train -n more --set train.from=base --set train.seed=7 --set optim.lr=1e-4
ok $? "training starts from a run"
is "$(value more val/loss 0)" "$(value base val/loss 12)" \
    "the model it starts from is the last of that run"
is "$(value more train/lr 1)" "$(value base train/lr 1 | awk '{ print $1 / 6 }')" \
    "the schedule begins anew"
is "$(tag more from.run) $(tag more from.step)" "$(gtrack where base |
    sed 's|.*/||') 12" "tags name the run and the step"
is "$(tag more from.sha256)" "$(weights base step-00000012 | cut -d' ' -f1)" \
    "a tag has the hash of the weights"
is "$(tag more mlflow.parentRunId)" "$(tag more from.run)" \
    "the run is a child of the one that it starts from"
train -n early --set train.from=base@8 --set train.stop_at=4
is "$?$(value early val/loss 0)" "0$(value base val/loss 8)" \
    "a step of that run can be named"
train -n folder --set train.from="$(gtrack where base)/artifacts/checkpoints/step-00000008" \
    --set train.stop_at=4
is "$?$(weights folder step-00000004)" "0$(weights early step-00000004)" \
    "a checkpoint starts the same training as its run and step"
gtrain eval base@4 --json >out 2>err
is "$? $(sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p' out | cut -c1-6)" \
    "0 $(value base val/loss 4 | cut -c1-6)" "other commands take a run and a step, too"

gtrain export base -o hf -q 2>err && gtrain import hf -o imported -q 2>>err &&
    train -n foreign --set train.from=imported --set train.stop_at=1
is "$?$(value foreign val/loss 0)" "0$(value base val/loss 12)" \
    "training starts from an imported model"
test ! -e "$(gtrack where foreign)/tags/from.run" &&
    test ! -e "$(gtrack where foreign)/tags/mlflow.parentRunId"
ok $? "an imported model belongs to no run"

# a constant rate shows that weights, moments and their steps are those of the run
same="--set schedule.kind=constant --set schedule.warmup=0 --set data.order=sequential"
tail -c +$((4 * 4 * 16 * 2 + 1)) train.bin >rest.bin
# shellcheck disable=SC2086 # words
{
    train -n long $same --set schedule.steps=5 &&
        train -n kept $same --set schedule.steps=1 --set train.from=long@4 \
            --set train.from_moments=yes --set data.train=rest.bin
}
is "$?$(weights kept step-00000001)" "0$(weights long step-00000005)" \
    "with the moments of a run, and its data, the next step is that of the run"

# ranks, resumes, replay
train -n two --set train.from=base --set train.seed=7 --set optim.lr=1e-4 --ranks 2
is "$?$(weights two step-00000012)" "0$(weights more step-00000012)" \
    "two processes compute the same from there"
gtrain replay more --steps 1:12 >out 2>err
is $? 0 "replay certifies it from its first step"
like err "certified" "the verdict says so"
train -n half --set train.from=base@8 --set train.stop_at=4
mv "$(gtrack where base)/artifacts/checkpoints" hidden
train -n half --set train.from=base@8 --resume auto
is $? 0 "a run is resumed without the model that it started from"
is "$(gtrack show half --json | grep -c '"train.from"')" 1 \
    "what it started from has not changed"
gtrain replay half --steps 9:12 >out 2>err
is $? 0 "replay from a checkpoint does not need that model"
gtrain replay half --steps 1:4 >out 2>err
is $? 3 "replay from the first step needs it"
like err "train.from: .*step-00000008" "the message names it"
mv hidden "$(gtrack where base)/artifacts/checkpoints"
train -n short --set train.seed=3
cp "$(gtrack where short)"/artifacts/checkpoints/step-00000008/* \
    "$(gtrack where base)/artifacts/checkpoints/step-00000008"
gtrain replay half --steps 1:4 >out 2>err
is $? 1 "another model in its place is found"
like err "is not the model that training started from: the SHA-256 of its weights" \
    "the message says how it was found"

# what does not fit
train -n x --set train.from=base@5
is $? 3 "a step without a checkpoint is refused"
like out "train.from: run base has no checkpoint of step 5; the last one before it is .*step-00000004" \
    "the message says which there is"
train -n x --set train.from=nobody
is $? 3 "a run that does not exist is refused"
train -n x --set train.from=base --set model.width=32
is $? 1 "a model of another width is refused"
like out "wte.weight is 32 x 16 in the checkpoint, but 32 x 32 by the settings" \
    "the message says what does not fit"
is "$(gtrack ls x --tsv --no-header 2>&1 | grep -c '^x')" 0 "no run was begun"
gtrain --config tiny.ini -n y --set train.from=base --set model.norm_eps=1e-3 \
    --set train.stop_at=1 --set model.dropout=0.1 >out 2>&1
like out "model.norm_eps is 0.001, but the checkpoint was written with 1e-05: its weights were trained for another function" \
    "a setting that changes what the weights mean is named"
! grep "dropout is" out
ok $? "one that does not is not named"
done_testing
