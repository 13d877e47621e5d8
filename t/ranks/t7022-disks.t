#!/bin/sh
# Trainings on disks that are full, that hang, and that vanish: they say so, and
# continue when the disk is as it should be, to the same bits.
if test -z "${IN_NAMESPACE-}" && unshare -rm true 2>/dev/null; then
    IN_NAMESPACE=1 exec unshare -rm "$0"
fi
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
test -n "${IN_NAMESPACE-}" || skip_all "no right to mount file systems"
make_ranks_case
mkdir disk below
trap 'umount -l disk 2>/dev/null; cd / && rm -rf "$dir"' EXIT
options="-q --config c.ini --set model.width=32 --set schedule.steps=6
    --set checkpoint.every=1 --root disk/mlruns --set checkpoint.folder=disk/ck"
weights() {
    cat disk/ck/step-00000006/*.safetensors | sha256sum
}
# shellcheck disable=SC2086 # a list
learn() {
    "$gtrain" $options --resume auto "$@" >log 2>&1
}
learn && weights >want
ok $? "a training on a good disk ends" "$(cat log)"
rm -rf disk/*

# A disk of every size from too small for a run to large enough for all.
small=0 problem=
sizes="64k 512k 1m 2m"
test -z "${GT_LONG:-}" ||
    sizes=$(seq -f %.0fk 64 192 6144)
for size in $sizes; do
    mount -t tmpfs -o "size=$size" none disk 2>err || break
    learn
    status=$?
    test $status -eq 0 || small=$((small + 1))
    if test $status -ge 126 || ! test $status -eq 0 -o -s log; then
        problem="$problem $size: status $status: $(cat log)"
    fi
    mount -o remount,size=64m disk
    learn || problem="$problem $size, resumed: $(cat log)"
    weights | cmp -s - want || problem="$problem $size: other weights"
    umount disk
done
if test -s err; then
    skip "a training resumes after a full disk" "no right to mount tmpfs"
else
    echo "# disks that were too small: $small of $(echo "$sizes" | wc -w)"
    test $small -gt 0 || problem="no disk was too small"
    is "$problem" "" "a training resumes after a full disk"
fi

# A network file system is one that a process stands for.
start_slow() {
    bindfs -f below disk >bindfs.log 2>&1 &
    server=$!
    perl -e 'for (1 .. 500) { exit 0 if (stat "disk")[0] != (stat "below")[0];
        select undef, undef, undef, .02 } exit 1'
}
# until a thread of process $1 waits for the file system
await_hang() {
    perl -e 'for (1 .. 1500) {
        for (glob "/proc/$ARGV[0]/task/*/wchan") {
            open my $f, "<", $_ or next;
            exit 0 if (<$f> // "") =~ /fuse|request_wait/ }
        select undef, undef, undef, .02 } exit 1' "$1"
}
if ! bindfs --version >/dev/null 2>&1 || ! start_slow; then
    skip "a training survives a file system that hung" "no bindfs or FUSE"
    skip "a training resumes after its file system vanished" "no bindfs or FUSE"
    done_testing
    exit
fi
# shellcheck disable=SC2086 # a list
"$gtrain" $options >log 2>&1 &
pid=$!
await_checkpoint disk/ck $pid
kill -STOP $server
await_hang $pid
ok $? "a training waits for a file system that hangs"
kill -CONT $server
wait $pid
is "$? $(weights)" "0 $(cat want)" "a training survives a file system that hung"
rm -rf disk/*

# shellcheck disable=SC2086 # a list
"$gtrain" $options >log 2>&1 &
pid=$!
await_checkpoint disk/ck $pid
kill -KILL $server
wait $pid
status=$?
umount -l disk
test $status -gt 0 && test $status -lt 126 && test -s log
ok $? "a training whose file system vanishes ends with a message" \
    "status $status: $(cat log)"
start_slow && learn && test "$(weights)" = "$(cat want)"
ok $? "a training resumes after its file system vanished" "$(cat log)"
kill $server
done_testing
