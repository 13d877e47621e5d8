#!/bin/sh
# Which checkpoints training resumes from, keeps, and sets aside.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 2000 >train.bin
cat >tiny.ini <<END
[model]
layers = 1
heads = 2
width = 16
context = 16
vocab = 32
vocab_multiple = 1
[data]
train = train.bin
[train]
micro_batch = 2
batch = 2
device = cpu
threads = 1
[schedule]
steps = 12
[eval]
every = 0
[sample]
every = 0
[checkpoint]
every = 4
keep_last = 9
[run]
system_every = 0s
END
train() { gtrain --config tiny.ini "$@" >out 2>&1; }

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
