#!/bin/sh
# Who writes a run: one process, whatever its number, its host and its clock.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

echo step=1 loss=1 | gtrack -r s log a -q

# Containers have the same process numbers.
if unshare -rpf true 2>/dev/null; then
    wrong=
    for i in $(seq 20); do
        for tag in aa bb cc; do
            unshare -rpf gtrack -r s tag a $tag=$tag-"$i" &
        done
        wait
        for tag in aa bb cc; do
            test "$(cat "$(gtrack -r s where a)/tags/$tag")" = $tag-"$i" ||
                wrong="$wrong $i:$tag"
        done
    done >out 2>err
    is "$wrong$(cat err)" "" \
        "three containers that tag a run at the same time do not mix their tags"
else
    skip "three containers tag a run" "no right to make a namespace of processes"
fi
run=$(gtrack -r s where a)
: >"$run/.gtrack/value.0123456789abcdef.tmp"
: >"$run/.gtrack/metric.0123456789abcdef.tmp"
touch -d '2 minutes ago' "$run/.gtrack/value.0123456789abcdef.tmp"
: >"$run/.gtrack/meta.0123456789abcdef.tmp"
# a process that holds the lock of its file, as those that write do, and then
# the same where there are no locks
: >"$run/.gtrack/value.fedcba9876543210.tmp"
held=$run/.gtrack/value.fedcba9876543210.tmp
perl -e '
    open my $file, "+<", $ARGV[0] or die;
    my $whole = pack "s s x4 q q l x4", 1, 0, 0, 0, 0;
    fcntl $file, 37, $whole or die; # F_OFD_SETLK
    system @ARGV[1 .. $#ARGV]' "$held" \
    sh -c 'echo step=2 loss=2 | gtrack -r s log --resume a -q' 2>err
is "$(cat err)$(ls "$run/.gtrack" | grep tmp)" value.fedcba9876543210.tmp \
    "an attempt removes what was left before, and not what is being written"
: >"$run/.gtrack/meta.0123456789abcdef.tmp"
echo step=3 loss=2 | LD_PRELOAD="$build/t/lib/disk.so" DISK_LOCKS=ENOLCK \
    gtrack -r s log --resume a -q
is "$(ls "$run/.gtrack" | grep -c tmp)" 2 \
    "without locks, an attempt keeps what may be being written"
rm -f "$run"/.gtrack/*.tmp

status_of() { gtrack -r s ls --tsv --no-header -c status "name = '$1'"; }
values() {
    awk '{ printf "%s %s;", $3, $2 }' "$(gtrack -r s where "$1")/metrics/loss"
}

# Started at once: one goes on, and the others change nothing.
echo step=1 loss=1 | gtrack -r s log r -q
mkfifo pipe
pids= four=
for i in 1 2 3 4; do
    gtrack -r s log --resume r -q <pipe >"out.$i" 2>"err.$i" &
    pids="$pids $!"
done
exec 8>pipe
for _ in $(seq 1000); do
    four=0
    for pid in $pids; do
        kill -0 "$pid" 2>/dev/null && four=$((four + 1))
    done
    test $four -gt 1 || test "$(status_of r)" != RUNNING || break
    perl -e 'select undef, undef, undef, .01'
done
is "$four $(status_of r)" "1 RUNNING" \
    "of four that resume a run at once, one goes on and the run is running"
echo step=2 loss=2 >&8
exec 8>&-
statuses=
for pid in $pids; do
    wait "$pid"
    statuses="$statuses$?
"
done
is "$(printf %s "$statuses" | sort | tr '\n' ' ')" "0 7 7 7 " \
    "writers that may not resume a run end with status 7"
is "$(cat err.? | grep -c 'is being written by process [1-9].*only one')" 3 \
    "writers that may not resume a run say which process writes the run"
is "$(ls "$(gtrack -r s where r)/.gtrack" | tr '\n' ' ')" \
    "attempt.1.yaml attempt.2.yaml " \
    "writers that may not resume a run leave no attempt and no lock"
is "$(values r) $(status_of r)" "1 1.0;2 2.0; FINISHED" \
    "the run has the points of the one"

# A writer in a container that shares the host's name.
if unshare -rpf --mount-proc true 2>/dev/null; then
    mkfifo box
    unshare -rpf --mount-proc gtrack -r s log box -q <box 2>err &
    writer=$!
    exec 8>box
    echo step=1 loss=1 >&8
    for _ in $(seq 1000); do
        test "$(status_of box)" && break
    done
    is "$(status_of box)" RUNNING "a run of a container is running outside of it"
    gtrack -r s rm box >out 2>err
    is "$? $(cat err)" "2 gtrack: run box: run box is being written" \
        "a run of a container is not removed from outside"
    echo step=2 loss=3 | gtrack -r s log --resume box -q >out 2>err
    is $? 7 "a run of a container is not resumed from outside"
    unshare -rpf --mount-proc gtrack -r s ls --tsv --no-header -c status \
        "name = 'box'" >out 2>err
    is "$(cat out err)" RUNNING "another container sees that the run is running"
    exec 8>&-
    wait $writer
    is "$? $(values box)" "0 1 1.0;" "the points of the container are there"
else
    skip "a run of a container is running outside" "no right to make namespaces"
fi

# Somebody who may not see the processes of others, as on a login node, or has
# no /proc at all.
hide='mount -t proc -o hidepid=2 proc /proc && cd "$1" && shift &&
    exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
none='umount -l /proc && cd "$1" && shift && exec "$@"'
look_from() {
    unshare -m sh -c "$1" sh "$dir" gtrack -r s ls --tsv --no-header -c status \
        "name = 'hidden'" 2>&1
}
chmod 755 "$dir"
if unshare -m sh -c "$hide" sh "$dir" gtrack --version >out 2>&1; then
    mkfifo hid
    gtrack -r s log hidden -q <hid 2>err &
    writer=$!
    exec 8>hid
    echo step=1 loss=1 >&8
    for _ in $(seq 1000); do
        test -z "$(values hidden 2>out)" || break
    done
    is "$(unshare -m sh -c "$hide" sh "$dir" ls -d /proc/$writer 2>&1 |
        grep -c 'No such')" 1 "the process of the writer is hidden"
    is "$(look_from "$hide")" RUNNING "a run whose process is hidden is running"
    is "$(look_from "$none")" RUNNING "a run is running for those without /proc"
    kill -KILL $writer
    wait $writer 2>out
    exec 8>&-
    is "$(look_from "$hide")" STALE "a run whose hidden process was killed is stale"
else
    skip "a run whose process is hidden is running" \
        "no right to hide processes: $(tail -n 1 out)"
fi

# A writer that is stopped is alive; if its run is stolen, it writes no more.
mkfifo slow
gtrack -r s log slow -q <slow 2>slow.err &
writer=$!
exec 8>slow
echo step=1 loss=1 >&8
for _ in $(seq 1000); do
    test "$(values slow 2>out)" && break
done
kill -STOP $writer
echo step=2 loss=3 | GT_CLOCK_MS=$(date +%s500000) \
    gtrack -r s log --resume slow -q >out 2>err
is "$? $(status_of slow)" "7 RUNNING" \
    "a writer that is stopped is alive, also for a clock of later"
echo step=2 loss=3 | gtrack -r s log --resume --steal slow -q >out 2>err
is "$?" 0 "the run of a writer that is stopped can be stolen"
echo step=2 loss=4 >&8
kill -CONT $writer
exec 8>&-
wait $writer
is "$? $(grep -c 'slow: the run is now written by process [1-9].*(attempt 2)' \
    slow.err)" "7 2" "a writer whose run was stolen ends with status 7 and says why"
is "$(values slow) $(status_of slow)" "1 1.0;2 3.0; FINISHED" \
    "a writer whose run was stolen writes nothing more"

# A store that is moved away and back has all that was logged meanwhile.
mkfifo away
gtrack -r moved log away -q <away 2>err &
writer=$!
exec 8>away
echo step=1 loss=1 >&8
for _ in $(seq 1000); do
    test "$(cat moved/0/*/metrics/loss 2>out)" && break
done
mv moved kept
echo step=2 loss=2 accuracy=3 >&8
await_file err
there=$(ls moved 2>&1)
mv kept moved
exec 8>&-
wait $writer
is "$? $(cat moved/0/*/metrics/loss moved/0/*/metrics/accuracy | wc -l)" "0 3" \
    "the points that are logged while a store is elsewhere are written later"
like err 'points are kept in memory' \
    "a writer says that it keeps points while its store is elsewhere"
is "$there" "$(ls no-store 2>&1 | sed s/no-store/moved/)" \
    "a store that was moved away is not created again"

# Of another machine, only the heartbeat can tell.
echo step=1 loss=1 | gtrack -r s log far -q
run=$(gtrack -r s where far)
sed -i 's/^status: .*/status: 1/; s/^end_time: .*/end_time: null/' \
    "$run/meta.yaml"
sed -i '/^end_time/d; /^lock/d
    s/^state: .*/state: RUNNING/; s/^boot_id: .*/boot_id: elsewhere/
    s/^host: .*/host: node7/; s/^interval_ms: .*/interval_ms: 100/' \
    "$run/.gtrack/attempt.1.yaml"
is "$(GT_CLOCK_MS=$(date -d '1 year' +%s000) status_of far)" RUNNING \
    "of a run of another machine, no clock tells whether its process lives"
# looks STATUS: look until the run has this status; print how often, if it has
looks() {
    for n in $(seq 500); do
        test "$(GTRACK_CACHE=$dir/looks status_of far)" != "$1" || break
    done
    echo "$n" | grep -vx 500
}
is "$(looks RUNNING)" 1 "of a run of another machine, one look tells nothing"
ok "$(test "$(looks STALE)" -gt 0; echo $?)" \
    "a heartbeat that is still the same after three intervals is of a stale run"
sed -i 's/ [0-9.]*$/ -90000/' looks/*.beats
is "$(GTRACK_CACHE=$dir/looks status_of far)" STALE \
    "a heartbeat that has stood still for a day is of a stale run"
sed -i 's/^heartbeat: .*/heartbeat: 1795742313502/' "$run/.gtrack/attempt.1.yaml"
is "$(GT_CLOCK_MS=1795742313900 looks RUNNING)" 1 \
    "a run is running again when its heartbeat moves, whatever its clock says"
# act COMMAND...: with a cache that has seen nothing yet
act() {
    rm -rf acting
    GTRACK_CACHE=$dir/acting gtrack -r s "$@" >out 2>err
}
while test ! -e stop; do
    cp "$run/.gtrack/attempt.1.yaml" beat && mv beat "$run/.gtrack/attempt.1.yaml"
done &
heart=$!
echo step=2 loss=2 | gtrack -r s log --resume far -q >out 2>err
is "$? $(grep -c 'on node7' err)" "7 1" \
    "a run whose heartbeat moves is being written"
act rm -q far
is "$? $(cat err)" "2 gtrack: run far: run far is being written" \
    "a run whose heartbeat moves is not removed"
act mv -q -e other far
is "$? $(grep -c 'while it is running' err)" "2 1" \
    "a run whose heartbeat moves is not moved"
: >stop
wait $heart
echo step=2 loss=2 | gtrack -r s log --resume far >out 2>err
is "$? $(values far)" "0 1 1.0;2 2.0;" "a run whose heartbeat stands still is resumed"
like err "waiting up to 0 s to see whether process" "a run of another machine is looked at before it is resumed"

# A run whose machine has gone can be moved and removed.
sed -i '/^end_time/d; /^lock/d
    s/^state: .*/state: RUNNING/; s/^boot_id: .*/boot_id: elsewhere/
    s/^interval_ms: .*/interval_ms: 100/' "$run/.gtrack/attempt.2.yaml"
sed -i 's/^status: .*/status: 1/; s/^end_time: .*/end_time: null/' \
    "$run/meta.yaml"
is "$(status_of far)" RUNNING "the run of another machine is running at first"
act mv -e other far
is "$? $(grep -c 'waiting up to 0 s to see' err)" "0 1" \
    "mv moves a run that another machine does not write any more"
run=$(gtrack -r s where far)
act rm far
is $? 0 "rm removes a run that another machine does not write any more"
act gc -y
is "$? $(ls -d "$run" 2>&1 | grep -c 'No such')" "0 1" \
    "gc removes the run of a machine that has gone"

done_testing
