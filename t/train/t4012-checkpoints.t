#!/bin/sh
# Which checkpoints training resumes from, keeps, and sets aside.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 2000 >train.bin
small_ini model.vocab=32 model.vocab_multiple=1 data.train=train.bin \
    train.micro_batch=2 train.batch=2 schedule.steps=12 eval.every=0 \
    sample.every=0 checkpoint.every=4 checkpoint.keep_last=9 >tiny.ini
train() { gtrain --config tiny.ini "$@" >out 2>&1; }
hashes() { (cd "$1" && find . -type f -exec sha256sum {} + | sort); }

# a folder belongs to a run
train --set checkpoint.folder=own -n a1
hashes own >want
train --set checkpoint.folder=own -n a2
is $? 2 "a new run is refused a folder with the checkpoints of another"
like out "checkpoint.folder: own has checkpoints of run $(gtrack where a1 |
    sed 's|.*/||'); use another folder, continue from them with --resume own" \
    "the message says whose checkpoints are in the folder and what to do"
is "$(hashes own)" "$(cat want)" \
    "a new run that is refused a folder changes nothing in it"
printf x >>own/step-00000012/state.json
train --set checkpoint.folder=own -n a3
is $? 2 "a new run is also refused a folder whose newest checkpoint is damaged"
train --set checkpoint.folder=own --root lost --resume own/step-00000008 &&
    test -e own/step-00000012/state.json && test -e own/step-00000012.old
ok $? "a run may go on in the folder that it resumes from, in another store"
train --set checkpoint.folder=own --resume own/step-00000004
is $? 2 "a run is refused a folder that has become that of another"

# from step 10^8 on, names have more digits
train --set checkpoint.folder=many
mkdir far
cp -r many/step-00000004 far/step-99999999
cp -r many/step-00000008 far/step-100000002
train --root far/mlruns --resume far --set train.stop_at=9
like out 'resuming after step 8' \
    "the checkpoint with the highest step is the newest, however many digits it has"
train --root alone --name alone
run=$(gtrack -r alone where alone)
for step in 10000000 99999999 100000002; do
    mkdir -p "$run/artifacts/checkpoints/step-$step"
    echo >"$run/artifacts/checkpoints/step-$step/x"
done
gtrack -r alone bundle alone -o b.tar --checkpoints last >out 2>&1
tar tf b.tar | grep -o 'checkpoints/step-.*' >names
is "$(cat names)" checkpoints/step-100000002/x \
    "a bundle has the checkpoint with the highest step"
done_testing
