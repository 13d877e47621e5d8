#!/bin/sh
# Runs are trained and logged on file systems without links, without locks, with
# names that ignore case, and by one node after the other.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 2000 >train.bin
small_ini model.vocab=32 model.vocab_multiple=1 data.train=train.bin \
    train.micro_batch=2 train.batch=2 schedule.steps=12 eval.every=0 \
    sample.every=0 checkpoint.every=4 checkpoint.keep_last=2 >tiny.ini

LD_PRELOAD=$build/t/lib/disk.so DISK_LINKS=EPERM \
    perl -e 'link("tiny.ini", "linked") and exit 0; exit($!{EPERM} ? 9 : 1)'
is $? 9 "the stand-in has no links"
cat >on <<END
#!/bin/sh
LD_PRELOAD=$build/t/lib/disk.so exec env "\$@"
END
chmod +x on
log() { ./on "$disk" gtrack -q -r s log "$@"; }
train() { ./on "$disk" gtrain --config tiny.ini --root s -n r "$@" >out 2>&1; }
status_of() { gtrack -r s ls --tsv --no-header -c status "name = '$1'"; }
points() { gtrack -r s metrics "$1" "$2" --tsv --no-header | wc -l; }
for disk in DISK_LINKS=EPERM DISK_LINKS=ENOSYS DISK_LINKS=EXDEV \
    DISK_LOCKS=ENOLCK DISK_LOCKS=ENOSYS; do
    rm -rf s
    printf 'step=%d loss=1 accuracy=2\n' 1 2 3 | log a >out 2>&1 &&
        printf 'step=%d loss=1 accuracy=2\n' 4 5 6 | log --resume a >>out 2>&1
    is "$? $(cat out) $(points a loss) $(points a accuracy) $(status_of a)" \
        "0  6 6 FINISHED" "a log has all its points with $disk"
    train --set train.stop_at=6 && train --resume auto
    is "$? $(points r train/loss) $(status_of r)" "0 12 FINISHED" \
        "a run is trained and resumed with $disk"
    gtrack -r s fsck >out 2>&1
    is "$? $(find s -name '*.tmp')" "0 " "nothing is left behind with $disk"
done

# Names that differ in case alone, where that makes one file of them.
disk=DISK_FOLDS=1
printf 'step=%d loss=1 Loss=2 Train/x=3 train/x=4\n' 1 2 | log case \
    -p lr=5 -p LR=6 >out 2>&1
is "$(grep -c 'ignore case' out)" 3 "each name that is one file with another is told"
like out 'the names of files ignore case here, so Loss is kept as Loss_ in' \
    "the message tells the name that is kept"
printf 'step=%d Loss=2 loss=1\n' 3 | log --resume case >out 2>&1
for key in loss Loss_ Train/x train_/x; do
    gtrack -r s metrics case $key --tsv --no-header | cut -f2 | tr '\n' ' '
done >out 2>&1
is "$(cat out)" "1.0 1.0 1.0 2.0 2.0 2.0 3.0 3.0 4.0 4.0 " \
    "names that are one file are kept as two, also when the run is resumed"
printf 'step=%d größe=1 GRÖSSE=3 GRÖßE=2 σ/x=4 Σ/x=5\n' 1 2 | log letters >out 2>&1
for key in größe GRÖßE_ GRÖSSE σ/x Σ_/x; do
    gtrack -r s metrics letters $key --tsv --no-header | cut -f2 | tr '\n' ' '
done >out 2>&1
is "$(cat out)" "1.0 1.0 2.0 2.0 3.0 3.0 4.0 4.0 5.0 5.0 " \
    "names that are one file but for the case of letters beyond ASCII are kept"
is "$(gtrack -r s ls --tsv --no-header -c lr,LR_ "name = 'case'")" "5${tab}6" \
    "parameters whose names are one file are kept as two"
./on $disk gtrack -r s tag case Team=a >out 2>&1 &&
    ./on $disk gtrack -r s tag case team=b >out 2>&1
is "$? $(cat "$(gtrack -r s where case)/tags/Team")" "2 a" \
    "a tag does not replace one whose name is the same file"
./on $disk gtrack -r s tag case Team=c && ./on $disk gtrack -r s fsck >out 2>&1
is "$? $(cat "$(gtrack -r s where case)/tags/Team")" "0 c" \
    "a tag of the same name is replaced where names ignore case"

# Started at once where nothing but exclusive creation tells who is first.
disk=DISK_LINKS=EPERM
echo step=1 loss=1 | log once
mkfifo pipe
exec 8<>pipe
pids=
for i in 1 2 3 4; do
    ./on $disk gtrack -q -r s log --resume once <pipe >"out.$i" 2>&1 8>&- &
    pids="$pids $!"
done
echo step=2 loss=2 >&8
# as long as one may still open the pipe, it has a writer
for _ in $(seq 3000); do
    # shellcheck disable=SC2086 # a list
    test "$(alive $pids | wc -l)" -gt 1 || break
    perl -e 'select undef, undef, undef, .02'
done
exec 8>&-
for pid in $pids; do
    wait "$pid"
    echo $?
done >statuses
is "$(sort statuses | tr '\n' ' ')$(points once loss)" "0 7 7 7 2" \
    "without links, one of four that resume a run at once goes on"

for disk in DISK_LINKS=EPERM DISK_LOCKS=ENOLCK; do
    rm -rf empty
    at_once 4 ./on $disk gtrain -q --config tiny.ini --root empty --resume auto
    is "$(ls -d empty/0/*/metrics | wc -l) $(gtrack metrics -r empty @latest \
        train/loss --tsv --no-header | wc -l)" "1 12" \
        "with $disk, four that begin a run at once begin one run"
done

# Without locks, process numbers tell who is alive.
disk=DISK_LOCKS=ENOLCK
mkfifo slow
./on $disk gtrack -q -r s log live <slow >out 2>&1 &
writer=$!
exec 8>slow
echo step=1 loss=1 >&8
for _ in $(seq 1000); do
    test "$(points live loss 2>err)" = 0 || break
done
echo step=2 loss=9 | log --resume live >out 2>&1
is "$? $(status_of live)" "7 RUNNING" "without locks, a run that is written is busy"
kill -KILL $writer
wait $writer 2>err
is "$(status_of live)" STALE "without locks, a writer that was killed is seen"
exec 8>&-
echo step=2 loss=2 | log --resume live >out 2>&1
is "$? $(points live loss)" "0 2" "without locks, its run is resumed at once"

# A disk on which the points wait: the heartbeat does not wait with them.
disk="DISK_HOLD=/metrics:$dir/answers DISK_HASTE=1"
# shellcheck disable=SC2086 # a list
./on $disk gtrack -q -r s log waiting <slow >out 2>&1 &
writer=$!
exec 8>slow
seq -f 'step=1 m%g=1' 50 >&8
run=
beat() { sed -n 's/^heartbeat: //p' "$run/.gtrack/attempt.1.yaml"; }
beats=
for _ in $(seq 3000); do
    run=${run:-$(gtrack -r s where waiting 2>err)}
    test -z "$run" || case $beats in *" $(beat)"*) ;; *) beats="$beats $(beat)" ;; esac
    test "$(echo "$beats" | wc -w)" -lt 3 || break
    perl -e 'select undef, undef, undef, .02'
done
is "$(echo "$beats" | wc -w) $(find "$run/metrics" -type f | wc -l) \
$(status_of waiting)" "3 0 RUNNING" "a run whose points wait for the disk is alive"
: >answers
exec 8>&-
wait $writer
is "$? $(find "$run/metrics" -type f | wc -l) $(status_of waiting)" "0 50 FINISHED" \
    "the points of a run are written when the disk answers"

# No two runs write one folder of checkpoints, also before the first is there.
cat >shared.ini <<'END'
[checkpoint]
folder = shared
every = 1000000000
END
cat tiny.ini >>shared.ini
sed -i '/^every = 4/d' shared.ini
./on $disk gtrain -q --config shared.ini --root s -n first \
    --set schedule.steps=1000000 >first 2>&1 &
writer=$!
await_file shared/.lock
./on $disk gtrain --config shared.ini --root s -n second >out 2>&1
is $? 7 "without locks, a folder of checkpoints has one run that is alive"
like out 'another running job uses shared' "the message names the folder"
kill -KILL $writer
wait $writer 2>err
./on $disk gtrain --config shared.ini --root s -n third >out 2>&1
is $? 0 "without locks, the folder of a run that was killed is free"

# Killed, and at once resumed on another node, whose name and boot are its own.
node() {
    unshare -rmpf --uts --mount-proc sh -c 'hostname node9 &&
        mount --bind boot /proc/sys/kernel/random/boot_id && exec "$@"' sh "$@"
}
echo 11111111-2222-3333-4444-555555555555 >boot
if node true 2>err; then
    gtrain -q --config tiny.ini --root far -n r --set checkpoint.folder=ck \
        --set schedule.steps=1000000 >out 2>&1 &
    writer=$!
    await_checkpoint ck $writer
    # its heartbeat, which is not due yet, in tenths of seconds
    sed -i 's/^interval_ms: .*/interval_ms: 100/' far/0/*/.gtrack/attempt.1.yaml
    kill -STOP $writer
    node gtrain --config tiny.ini --root far -n r \
        --set checkpoint.folder=ck --resume auto >out 2>&1
    is $? 7 "another node does not resume a run whose writer has its lock"
    kill -KILL $writer
    wait $writer 2>err
    node gtrain --config tiny.ini --root far -n r \
        --set checkpoint.folder=ck --resume auto >out 2>&1
    is "$? $(gtrack -r far ls --tsv --no-header -c status,attempts)" \
        "0 FINISHED${tab}2" "another node resumes the run of a writer that was killed"
    like out 'waiting up to .* to see whether process .* still writes the run' \
        "another node waits whether the heartbeat moves"
else
    skip "a run is resumed on another node" "no right to make namespaces"
fi
done_testing
