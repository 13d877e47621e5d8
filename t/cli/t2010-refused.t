#!/bin/sh
# What a sandbox or an old kernel refuses for ever, a full disk and few files make
# no program spin: each does its work all the same, or ends with a message.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"

make_ranks_case >out 2>err
awk 'BEGIN { for (i = 0; i < 300; i++) print "number", i, i * i }' >text.txt
gdata bpe -q -n 270 -o tok text.txt
gtrack -q -r seed exec --name one -- sh -c 'seq -f step=%.0f\ loss=.5 20' >out
gtrack -q -r seed bundle -o one.tar one >out
printf 'The loss of `one` is **0.5**.\n' >paper.md
train="gtrain -q --config c.ini --set model.width=32 --set schedule.steps=2"
cat >commands <<END
echo step=1 loss=1 | gtrack -q -r r log two
gtrack -q -r r exec -- sh -c 'echo step=1 loss=1; echo loss=2 >&2'
gtrack -q -r r sweep -o r/s -j 2 --grid a=1,2 -- sh -c 'echo {a}'
gtrack -r r ls --csv -c name,loss
gtrack -q -r r tag one color=blue
gtrack -q -r r mv -e other one
gtrack -q -r r rm one && gtrack -q -r r gc -y
gtrack -q -r imp import seed; s=\$?; rm -rf imp; exit \$s
gtrack -q -r r export --to csv -o r/out.csv
gtrack -q -r r alert --once --when 'loss < 1' --do 'echo told'
gtrack verify one.tar
gtrack -r r claims paper.md
gtrack -r r fsck
gplot -r r -q loss one -o r/f.json
gplot -r r -q loss one -o r/f.svg
gdata bpe -q -n 270 -o r/tok text.txt
gdata encode -q -T tok -o r/d text.txt
gdata dedup -q -o r/d.txt text.txt
$train --root r
$train --root r --ranks 2
gtrain plan c.ini --device cpu
gtrain devices
END
# Those that made a program spin come first.
cat >calls <<END
sysinfo
getrandom
poll
landlock_add_rule
END
test -z "$long" || cat >>calls <<END
ppoll
pidfd_open
landlock_create_ruleset
landlock_restrict_self
sched_getaffinity
sched_setaffinity
prctl
prlimit64
inotify_init1
eventfd2
memfd_create
madvise
fadvise64
fallocate
copy_file_range
renameat2
linkat
flock
syncfs
statfs
uname
setpgid
timerfd_create
epoll_create1
clone3
getrusage
process_vm_readv
END

# Nobody needs Landlock or the size of the memory.
must_work() {
    case $1 in sysinfo* | landlock_*) return 0 ;; esac
    return 1
}
# all_end IF WORDS...: run each command after these words, or without $long half
# of them, in turn.  It has 20 seconds of processor time; a status above 123 is
# that of timeout(1), or of a signal.
turn=0
all_end() {
    if=$1 bad='' n=0 tried=0
    shift
    turn=$((1 - turn))
    while IFS= read -r command; do
        n=$((n + 1))
        test -n "$long" || test $((n % 2)) = $turn || continue
        tried=$((tried + 1))
        rm -rf r && cp -R seed r
        # shellcheck disable=SC3045 # dash has it
        (ulimit -t 20 && exec timeout -k 1 300 "$@" sh -c "$command") \
            >out 2>err </dev/null
        status=$?
        if test $status -gt 123 ||
            { test $status -ne 0 && must_work "$if"; } ||
            { test $status -ne 0 && ! grep -q '^[a-z/]*: ' err; }; then
            bad="$bad
$command: status $status: $(tail -n 3 err)"
        fi
    done <commands
    test $tried -gt 0 || bad="nothing was tried"
    echo "# $if: $tried commands"
    is "$bad" "" "each program ends if $if"
}
while read -r call; do
    for error in ENOSYS EPERM; do
        all_end "$call fails with $error" "$build/t/lib/disturb" -x "$call" -e $error
    done
done <calls
all_end "the disk is full" "$build/t/lib/disturb" -c write -n 1 -a -e ENOSPC
# shellcheck disable=SC2016 # for the inner shell
(ulimit -s 64 && gtrack ls) >out 2>&1
is "$? $(cat out)" "1 gtrack: a stack of 64 KiB is too small; 'ulimit -s 8192' \
allows a larger one" "a stack that is too small is an error"
all_end "32 files may be open" sh -c 'ulimit -n 32; exec "$@"' sh

# Daemons and cron close the standard streams.  What a program opens first must
# not take their place: no file gets a message.
# outcome COMMAND: its status, and how many lines of files are messages
outcome() {
    rm -rf r && cp -R seed r
    sh -c "$1"
    echo "$? $(grep -rhE '^g(data|plot|track|train): ' r | wc -l)"
}
bad='' n=0
sed 's/ -q / /' commands >loud
while IFS= read -r command; do
    want=$(outcome "($command) >out 2>err </dev/null")
    for closed in '<&-' '2>&-' '>&-' '<&- >&- 2>&-'; do
        n=$((n + 1))
        test -n "$long" || test $((n % 5)) = 0 || continue
        got=$(outcome "($command) >out 2>err </dev/null $closed")
        case $closed in *'>&- '* | '>&-') got="${want% *} ${got#* }" ;; esac
        test "$got" = "$want" || bad="$bad
$command $closed: $got, not $want"
    done
done <loud
is "$bad" "" "no message goes into a file while standard streams are closed"
done_testing
