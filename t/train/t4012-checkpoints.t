#!/bin/sh
# Which checkpoints training resumes from, keeps, and sets aside.
unset TMPDIR # checkpoints are to be on a disk
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

can_disturb() {
    "$build/t/lib/disturb" -n 1 true
    test $? = 137
}
# what cannot be read is not missing: resuming does not begin anew
train --root half -n r --set train.stop_at=8
train --root half -n other --set train.stop_at=4 --set checkpoint.folder=kept
# unread OPTION...: resume a copy of the store, and say what is wrong after it
unread() {
    rm -rf copy && cp -R half copy && cp -R kept copy/kept
    "$@" gtrain --config tiny.ini --root copy -n r --resume auto >out 2>&1
    status=$?
    test "$(ls -d copy/0/*/metrics | wc -l)" -eq 2 || echo "a new run"
    find copy -name '*.old'
    test $status -ne 0 || test -e copy/0/*/artifacts/checkpoints/step-00000012 ||
        echo "status 0 without the checkpoint of step 12"
    test $status -eq 0 || grep '^gtrain: ' out >/dev/null || echo "no message"
}
if can_disturb; then
    for path in /checkpoints .gtrack copy/0 tags/mlflow.runName; do
        look="$build/t/lib/disturb -c read -p $path"
        unread $look >bad
        n=$(sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' out)
        for at in 1 2 $((1 + n / 7)); do
            unread $look -n "$at" -e EIO
        done >>bad
        test $path = .gtrack || unread $look -n 1 -e EACCES >>bad
        test "${n:-0}" -gt 0 && test ! -s bad
        ok $? "a resume that cannot read $path once does not begin anew" \
            "$n calls: $(cat bad)"
    done
    rm -rf copy && cp -R kept copy
    "$build/t/lib/disturb" -c read -p copy -n 1 -e EIO gtrain -q --config \
        tiny.ini --root half --resume auto --set checkpoint.folder=copy >out 2>&1
    is $? 1 "a folder of checkpoints that cannot be read is an error"
    like out "copy.*Input/output error" "the message names the unreadable folder"
    "$build/t/lib/disturb" -c write -p /log.txt -n 5 -a -e ENOSPC \
        gtrain --config tiny.ini --root full >out 2>&1
    is "$? $(grep -c 'bytes of log.txt are lost: .*No space' out)" "1 1" \
        "a training says that its log found no space"
else
    skip "a resume that cannot read something" "no right to supervise system calls"
fi
for file in copy/*/state.json; do
    printf x >>"$file"
done
train --root half --resume auto --set checkpoint.folder=copy
is $? 1 "a resume does not begin anew where all checkpoints are damaged"
like out 'all checkpoints in copy are damaged' "the message says so of the folder"
if unshare -rm mount -t tmpfs none /proc 2>/dev/null; then
    bare() { unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }
    is "$(unread bare; grep -o 'after step 8' out)" 'after step 8' \
        "a resume needs no /proc"
    bare gtrack -r half artifacts r --cat log.txt >out 2>&1
    like out '^8 train' "artifacts are read without /proc"
    bare gtrain --config tiny.ini --ranks 2 >out 2>&1
    is "$? $(cat out)" "1 gtrain: cannot start the ranks, since /proc/self/exe is missing; mount /proc, or start each rank yourself, as gtrain(1) says: No such file or directory" \
        "without /proc, --ranks says that it needs it"
else
    skip "a resume needs no /proc" "no right to mount"
fi
# a store that was moved
gtrain --config tiny.ini --root here --set schedule.steps=1000000 >out 2>&1 &
pid=$!
await_path 'here/0/*/artifacts/checkpoints/step-00000004' $pid
mv here there
kill -TERM $pid
wait $pid
test $? -eq 1 && test ! -e here && test -e there/0/*/artifacts/checkpoints
ok $? "training creates nothing where its store was"

# a checkpoint with its name is whole and has its sums, whenever it is killed
killed() {      # killed OPTION...: two checkpoints, of which one is removed
    rm -rf case
    "$build/t/lib/disturb" -c write -p artifacts/checkpoints "$@" gtrain -c \
        tiny.ini --root case -n r --set train.stop_at=2 --set run.log_every=9 \
        --set checkpoint.every=1 --set checkpoint.keep_last=1 \
        --set checkpoint.async=no >out 2>&1
    for step in case/0/*/artifacts/checkpoints/step-*; do
        test -d "$step" || continue
        sums=$step/../../checkpoints.sha256
        test "$(grep -c "${step##*/}/" "$sums")" -ge 3 || echo "no sums"
        (cd "$step/../.." &&
            grep "${step##*/}/" checkpoints.sha256 | sha256sum -c --quiet)
        for file in config.ini state.json model.safetensors optim.safetensors; do
            test -e "$step/$file" || echo "no $step/$file"
        done
    done
}
if can_disturb; then
    killed >bad 2>&1
    n=$(sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' out)
    every=40 last=1
    ! thorough || every=5 last=12
    test -z "${GT_LONG:-}" || every=1
    for at in $(seq 1 $every "$n") $(seq $((n - last)) "$n"); do
        killed -n "$at" || echo "at $at"
    done >>bad 2>&1
    is "$(cat bad)" "" "a checkpoint is whole whenever training is killed" "$n calls"
fi
# SIGTERM before the first step
train --root first -n r --set checkpoint.keep_every=4 --set train.stop_at=4
first=$(echo first/0/*/artifacts)
cp -R "$first/checkpoints/step-00000004" "$first/checkpoints/step-00000000"
printf 'half a li' >>"$first/checkpoints.sha256"
train --root first -n r --set checkpoint.keep_every=4 --set \
    checkpoint.keep_last=1 --resume auto
is "$(cd "$first/checkpoints" && echo step-*)" \
    'step-00000004 step-00000008 step-00000012' \
    "checkpoint.keep_every does not keep the checkpoint of step 0"
is "$(cd "$first" && grep -v '[48]/' checkpoints.sha256 | sha256sum -c 2>&1 |
    grep -vc ': OK$')" 0 "a line of checkpoints.sha256 that is not whole is removed"

# early stopping lasts
early() {
    train --root early -n r --resume auto --set data.val=train.bin \
        --set eval.every=2 --set eval.sequences=4 --set optim.lr=0 \
        --set checkpoint.every=0 "$@"
}
early --set eval.patience=2 && early --set eval.patience=2
is "$?$(awk 'END { print "", NR }' early/0/*/metrics/train/loss)" "0 6" \
    "a run that was stopped early does not go on when it is resumed"
like out 'stopping early: the best validation loss is still .*, of step 2' \
    "a resume says that the run was stopped early"
early --set eval.patience=9
is "$?$(awk 'END { print "", NR }' early/0/*/metrics/train/loss)" "0 12" \
    "a run that was stopped early goes on with a larger eval.patience"

# what spikes are judged by is part of a checkpoint
spiky() {       # spiky ROOT [OPTION]...
    root=$1
    shift
    train --root "$root" --resume auto --set schedule.steps=40 \
        --set checkpoint.every=20 --set optim.lr=1e-2 --set train.on_spike=skip \
        --set train.spike_window=8 --set train.spike_loss=1 \
        --set train.spike_norm=1 --set train.max_skips=9 "$@"
}
skips() {
    cut -d ' ' -f 3 "$1"/0/*/metrics/event/skipped | tr '\n' ' '
    sha256sum <"$(echo "$1"/0/*/artifacts/checkpoints/step-00000040/model.safetensors)"
}
spiky spikes
for stop in 26 31; do
    spiky spikes$stop --set train.stop_at=$stop
    spiky spikes$stop
    is "$(skips spikes$stop)" "$(skips spikes)" \
        "a run that is resumed after step $stop skips the same spikes"
done
test "$(wc -l <"$(echo spikes/0/*/metrics/event/skipped)")" -ge 3
ok $? "there are spikes to skip" "$(skips spikes)"
# the times of the phases of every step
train --root phases --set train.stop_at=5 && train --root phases --resume auto
is "$(cut -d ' ' -f 3 phases/0/*/metrics/perf/forward_ms | tr '\n' ' ')" \
    '1 2 3 4 5 6 7 8 9 10 11 12 ' \
    "a run that is resumed has the times of the phases of each step once"

# memory for checkpoints is taken before the first step, and not at the last
for ranks in '' ' --ranks 2 --set parallel.mode=zero1'; do
    # shellcheck disable=SC2086 # words
    LD_PRELOAD=$build/t/lib/shim.so SHIM_OF=gtrain SHIM_LARGEST=800000 train \
        --root short${#ranks} --set model.width=128 --set train.batch=4 $ranks
    is "$?$(ls short${#ranks}/0/*/metrics/train 2>/dev/null)" 1 \
        "training does not begin without memory for checkpoints$ranks"
    like out 'memory for checkpoints: cannot allocate [0-9]* bytes' \
        "the message says what the memory was for$ranks"
done

# what is due after a step is done once, whatever ends the process meanwhile
encode_letters letters
awk 'BEGIN { for (i = 0; i < 30000; i++)
    printf "{\"ctx\":\"a%d\",\"endings\":[\"b\",\"c\"],\"label\":%d}\n",
        i, i % 2 }' >questions.jsonl
letters() {     # letters ROOT [OPTION]...
    root=$1
    shift
    gtrain --config tiny.ini --root "$root" -n r --resume auto \
        --set data.train='letters_*.bin' --set data.val='letters_*.bin' \
        --set data.tokenizer=tok --set model.vocab=260 \
        --set eval.every=4 --set eval.sequences=4 --set eval.tasks_every=4 \
        --set eval.tasks=questions --set eval.tasks_data=. --set sample.every=4 \
        --set sample.tokens=4 --set schedule.steps=8 "$@" >log 2>&1
}
# events ROOT: steps of validations, of questions and of samples, and the weights
events() {
    for key in val/loss task/questions/acc; do
        gtrack -r "$1" metrics r $key --tsv --no-header | cut -f1 | tr '\n' ' '
    done
    ls "$1"/0/*/artifacts/samples | tr '\n' ' '
    sha256sum <"$(echo "$1"/0/*/artifacts/checkpoints/best/model.safetensors)"
}
n=0
for how in KILL TERM 'TERM --ranks 2 --set train.batch=4 --set train.deterministic=yes'
do
    signal=${how%% *} ranks=${how#"${how%% *}"} n=$((n + 1))
    # shellcheck disable=SC2086 # words
    letters whole$n --set eval.tasks_limit=2 $ranks
    rm -f log
    # shellcheck disable=SC2086 # words
    letters due$n --set eval.tasks_limit=0 $ranks &
    pid=$!
    if test "$signal" = KILL; then
        await_line log 'step 8: validation loss' $pid &&
            await_path "due$n/0/*/artifacts/checkpoints/step-00000004" $pid
    else
        await_line log 'step 4: validation loss' $pid
    fi
    kill -"$signal" $(children $pid)
    wait $pid
    status=$?
    last=$(sed -n 's/.*stopped by a signal after step \([0-9]*\);.*/\1/p' log)
    asked=$(gtrack -r due$n metrics r task/questions/acc --tsv --no-header 2>&1 |
        grep -c "^$last$tab")
    test "$signal" = KILL || is "$status $asked" "75 0" \
        "SIGTERM ends training among questions, not after them$ranks"
    # shellcheck disable=SC2086 # words
    letters due$n --set eval.tasks_limit=2 $ranks
    is "$(events due$n)" "$(events whole$n)" \
        "SIG$signal among the questions after a validation leaves nothing out$ranks"
done
# mv -e takes along what a run of gtrain has read
read_by() {
    run=$(gtrack -r whole1 where r)
    cat "$run"/inputs/*/meta.yaml "$run"/../datasets/*/meta.yaml
}
read_by >want 2>&1
gtrack -r whole1 mv -q -e other r >out 2>&1
ok $? "a run of gtrain is moved" "$(cat out)"
is "$(gtrack -r whole1 ls --tsv --no-header -c experiment,damage
    gtrack -r whole1 fsck --no-header -q
    read_by 2>&1 | diff - want)" "other$tab" \
    "a run of gtrain that was moved has what it has read"
letters one --ranks 2 --set train.batch=4 --set eval.tasks_limit=1 \
    --set parallel.timeout=1m
is "$? $(gtrack -r one metrics r task/questions/acc --tsv --no-header | wc -l)" "0 2" \
    "a rank that has no question waits for the others" "$(cat log)"
printf '{"ctx":"a","endings":["b",' >>questions.jsonl
sed -i 1,29999d questions.jsonl
for ranks in '' ' --ranks 2 --set train.batch=4'; do
    # shellcheck disable=SC2086 # words
    letters cut${#ranks} $ranks
    is $? 0 "questions that are cut do not end training$ranks"
    is "$(grep -c 'warning: no questions after step 4: ./questions.jsonl:2: ' log)" 1 \
        "one warning says that the questions cannot be read$ranks"
done

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

# a run that is killed before its first checkpoint begins again as the same run
curve() {  # curve STORE: the losses, and how many runs there are
    gtrack metrics -r "$1" --tsv --no-header r train/loss 2>&1
    ls -d "$1"/0/*/metrics | wc -l
}
train --root once -n r
curve once >want
again() {  # again: resume the store killed, and compare
    train --root killed -n r --resume auto
    status=$?
    curve killed >got
    test $status -eq 0 && cmp -s want got &&
        cmp -s once/0/*/artifacts/checkpoints/step-00000012/model.safetensors \
            killed/0/*/artifacts/checkpoints/step-00000012/model.safetensors
}
if can_disturb; then
    rm -rf killed
    "$build/t/lib/disturb" -c write -p killed/0 gtrain --config tiny.ini \
        --root killed -n r --set train.stop_at=1 >out 2>&1
    n=$(sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' out)
    for part in $(thorough && echo 1 2 3 4 5 6 7 8 9 || echo 3 8); do
        rm -rf killed
        "$build/t/lib/disturb" -c write -p killed/0 -n $((n * part / 10)) \
            gtrain --config tiny.ini --root killed -n r >out 2>&1
        again || echo "write $((n * part / 10)) of $n: $(cat out got)"
    done >bad
    test "${n:-0}" -gt 50 && test ! -s bad
    ok $? "a run that is killed before its first checkpoint begins again" \
        "$n calls: $(cat bad)"
    rm -rf killed
    "$build/t/lib/disturb" -c write -p step-00000004 -n 1 \
        gtrain --config tiny.ini --root killed -n r >out 2>&1
    test "$(curve killed | wc -l)" -ge 5 && again &&
        grep -q 'beginning the interrupted run again' out
    ok $? "what a run did before it begins again is retracted" "$(cat out got)"
    gtrack fsck -r killed >out 2>&1
    is $? 0 "a run that has begun again is whole" "$(cat out)"
    rm -rf killed
    "$build/t/lib/disturb" -c write -p step-00000004 -n 1 \
        gtrain --config tiny.ini --root killed -n r >out 2>&1
    train --root killed -n r --resume auto --set optim.lr=1e-9
    is "$(ls -d killed/0/*/metrics | wc -l)" 2 \
        "with other settings, a new run begins beside the interrupted one"
else
    skip "a run that is killed before its first checkpoint" \
        "no right to supervise system calls"
fi

# Started at once in an empty store: one run, which one of them trains.
for round in 1 2 3; do
    rm -rf once
    at_once 4 gtrain -q --config tiny.ini --root once --resume auto
    ls -d once/0/*/metrics | wc -l
    gtrack metrics -r once @latest train/loss --tsv --no-header | wc -l
done >out 2>&1
is "$(tr '\n' ' ' <out)" "1 12 1 12 1 12 " \
    "four that begin the first run of a store at once begin one run"
is "$(cat ended.* | grep -c -v -x -e 0 -e 7)" 0 \
    "the status of each is that of a finished run or of one that is being written"
rm -rf late
LD_PRELOAD=$build/t/lib/disk.so DISK_HOLD=/.gtrack.trash:$dir/go gtrain -q \
    --config tiny.ini --root late --resume auto >out 2>&1 &
late=$!
await_path late/.gtrack.trash $late
gtrain -q --config tiny.ini --root late --resume auto >out.first 2>&1
: >go
wait $late
is "$? $(grep -c 'another process has just written' out) $(ls late/.gtrack.trash |
    grep begin)" "7 1 " "who comes late to begin a run leaves no claim of it"
for last in yes no; do
    rm -rf late go
    LD_PRELOAD=$build/t/lib/disk.so DISK_HOLD=/.gtrack:$dir/go gtrain -q \
        --config tiny.ini --root late --resume auto \
        --set checkpoint.every=0 --set checkpoint.last=$last >out 2>&1 &
    late=$!
    await_path 'late/.gtrack.trash/new.*/.gtrack' $late
    gtrain -q --config tiny.ini --root late --resume auto \
        --set checkpoint.every=0 --set checkpoint.last=$last
    : >go
    wait $late
    echo "$? $(sed -n 's/.*\(another process has just [a-z]*\).*/\1/p' out)"
    gtrack metrics -r late @latest train/loss --tsv --no-header | wc -l
    gtrack ls -r late --no-header | grep -c FINISHED
done >said 2>&1
is "$(tr '\n' ' ' <said)" \
    "7 another process has just written 12 1 7 another process has just finished 12 1 " \
    "who comes after the end of the run that it was to begin leaves it as it is"
if can_disturb; then
    rm -rf killed
    "$build/t/lib/disturb" -c write -p /begin. gtrain -q --config tiny.ini \
        --root killed --resume auto >out 2>&1
    n=$(sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' out)
    for at in $(seq "$n"); do
        rm -rf killed
        "$build/t/lib/disturb" -c write -p /begin. -n "$at" \
            gtrain -q --config tiny.ini --root killed --resume auto >out 2>&1
        at_once 2 gtrain -q --config tiny.ini --root killed --resume auto
        test "$(ls -d killed/0/*/metrics | wc -l)" -eq 1 &&
            gtrack ls -r killed | grep -q FINISHED &&
            ! ls killed/.gtrack.trash | grep begin || echo "$at: $(cat at_once.*)"
    done >bad
    test "${n:-0}" -gt 2 && test ! -s bad
    ok $? "what a kill leaves of the claim of a run does not matter" \
        "$n calls: $(cat bad)"
    # a claim of a run that has ended since
    gtrain -q --config tiny.ini --root ended --set checkpoint.every=0 \
        --set checkpoint.last=false >out 2>&1
    "$build/t/lib/disturb" -c write -p /begin. -n "$n" gtrain -q --config \
        tiny.ini --root ended --resume auto --set checkpoint.every=0 \
        --set checkpoint.last=false >out 2>&1
    claim=$(ls ended/.gtrack.trash/begin.*)
    gtrack rm -r ended "$(cat "$claim")" >out 2>&1 && gtrain -q --config \
        tiny.ini --root ended --resume auto --set checkpoint.every=0 \
        --set checkpoint.last=false >out 2>&1
    is "$? $(gtrack ls -r ended --tsv --no-header -c status | tr '\n' ' ')" \
        "0 FINISHED FINISHED " "the claim of a run that was removed holds no longer"
else
    skip "a claim that a kill leaves" "no right to supervise system calls"
fi

# the clock is set back by a year between two runs
back() {
    env LD_PRELOAD="$build/t/lib/shim.so" SHIM_JUMP=1:-31536000 \
        gtrain --config tiny.ini --root back --set train.stop_at=4 "$@" >out 2>&1
}
train --root back --set train.stop_at=4
back --resume auto
is $? 0 "a run is resumed after the clock was set back"
back
back --resume auto
is $? 1 "a run is not chosen by times if the clock was set back since"
like out 'has not begun yet, .* --resume run1' "the message says what to do"

# a model for which no machine has memory
train --resume alone --root alone --set model.width=65536 --set model.layers=64
is $? 1 "a checkpoint of a smaller model is refused"
like out "is 32 x 16 in the checkpoint, but 32 x 65536 by the settings" \
    "the shapes are compared before memory for the larger model is allocated"
gtrain eval --root alone alone --set model.width=65536 \
    --set model.layers=64 >out 2>&1
like out "is 32 x 16 in the checkpoint, but 32 x 65536 by the settings" \
    "evaluation, too, compares shapes before it allocates memory"
done_testing
