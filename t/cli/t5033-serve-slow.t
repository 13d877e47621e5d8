#!/bin/sh
# gtrack serve on a disk that does not answer: the page can be opened, says what
# is missing, and shows what is known; a file system that hangs is the slowest
# one there is.
if test -z "${IN_NAMESPACE-}" && unshare -rm true 2>/dev/null; then
    IN_NAMESPACE=1 exec unshare -rm "$0"
fi
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/serve.sh"
test -n "${IN_NAMESPACE-}" || skip_all "no right to mount file systems"
bindfs --version >/dev/null 2>&1 || skip_all "no bindfs"

mkdir below disk
echo step=1 loss=1 | gtrack -q -r below/runs log one
bindfs -f below disk >bindfs.log 2>&1 &
slow=$!
trap 'kill -CONT $slow; test -z "$server" || kill -KILL "$server"
    umount -l disk; kill $slow 2>/dev/null; rm -rf "$dir"' EXIT
perl -e 'for (1 .. 500) { exit 0 if (stat "disk")[0] != (stat "below")[0];
    select undef, undef, undef, .02 } exit 1' || skip_all "no FUSE"

# ask until the body of the answer to PATH matches PATTERN
await_answer() {
    for _ in $(seq 600); do
        ask "$1"
        ! grep -q "$2" out || return 0
        perl -e 'select undef, undef, undef, .05'
    done
    return 1
}

kill -STOP $slow
start -r disk/runs
like log "reading disk/runs takes long; the page" \
    "the server says what it does if a store takes long to read"
ask /
is "$(status)" 200 "the page opens while a store is read for the first time"
ask "/api/runs?store=0"
like out "disk/runs is still being read" \
    "a table of a store that was not read yet says so"
kill -CONT $slow
await_answer "/api/runs?store=0" '"one"'
ok $? "the runs are there when the store has been read"

kill -STOP $slow
echo step=1 loss=1 | gtrack -q -r below/runs log two
for _ in 1 2 3 4 5 6; do
    ask "/api/runs?store=0"
    perl -e 'select undef, undef, undef, .6'
done
is "$(status) $(grep -c '"one"' out)" "200 1" \
    "the runs of before are shown while a store is read again"
kill -CONT $slow
await_answer "/api/runs?store=0" '"two"'
ok $? "a new run is there when the store has been read again"

kill -STOP $slow
ask "/api/runs?store=0"
kill "$server"
wait "$server"
is $? 0 "a server ends while a store is being read"
server=
kill -CONT $slow
done_testing
