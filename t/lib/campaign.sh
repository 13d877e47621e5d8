# campaign.sh - commands that are disturbed, run again, and compared; sourced
# after tap.sh
#
#   campaign HOW COUNT WHAT COMMAND     run the shell COMMAND in a fresh folder
#                       `case`, disturbed at COUNT moments that are spread over
#                       its run, and each time once more to its end: one test
#                       result.  WHAT begins with the name of the program
#   or_long COUNT       print $long if it is set, and COUNT otherwise; it is
#                       $GT_COUNT or 500 with GT_LONG, as in make check-long
#
# HOW is one of
#
#   kill                all processes are killed at a system call
#   kill:TEXT           they are killed at a change of a file whose path has TEXT
#   ENOSPC, EIO, ...    a call that changes a file fails with this error
#   full                it fails with ENOSPC, and so do all later ones
#   EMFILE              a call that opens something fails
#   memory              an allocation fails
#   later, earlier      the wall clock jumps by a year
#   power               the power fails: what was not synced is lost, in part
#
# The test provides shell functions that run in the folder:
#
#   prepare             make what the command needs
#   verify              print what is wrong after a run without disturbance
#   promised FILE       print what is missing of what the command had announced
#                       in FILE, its output, when the power failed
#
# After an error, a command must have printed a message and ended with a status
# of its own, or it must have done its work.  After a jump of the clock it must
# have done its work in any case.
#
# shellcheck shell=sh disable=SC2034,SC2154
can_disturb() {
    "$build/t/lib/disturb" -n 1 true
    test $? = 137
}

promised() { :; }

long=${GT_LONG:+${GT_COUNT:-500}}
or_long() {
    echo "${long:-$1}"
}

# The command with the disturbance at the moment $1; 0 counts the moments.
run_disturbed() {
    at=$1
    rm -rf case && mkdir case
    (cd case && prepare)
    disturb=$build/t/lib/disturb
    set -- sh ../typed
    case $how in
    kill) set -- "$disturb" -n "$at" "$@" ;;
    kill:*) set -- "$disturb" -c write -p "${how#kill:}" -n "$at" "$@" ;;
    EMFILE) set -- "$disturb" -c open -n "$at" -e EMFILE "$@" ;;
    full) set -- "$disturb" -c write -n "$at" -a -e ENOSPC "$@" ;;
    E*) set -- "$disturb" -c write -n "$at" -e "$how" "$@" ;;
    memory) set -- env SHIM_FAIL="$at" "$@" ;;
    later) set -- env SHIM_JUMP="$at:31536000" "$@" ;;
    earlier) set -- env SHIM_JUMP="$at:-31536000" "$@" ;;
    power) set -- "$disturb" -r ../ops "$@" ;;
    esac
    case $how in
    memory | later | earlier)
        test "$at" -gt 0 || set -- env -u SHIM_FAIL -u SHIM_JUMP sh ../typed
        set -- env LD_PRELOAD="$build/t/lib/shim.so" SHIM_OF="${what%% *}" \
            SHIM_COUNTS="$PWD/counts" "$@"
        ;;
    esac
    (cd case && exec "$@") >first 2>&1
}

# How many moments there are, after a run that counted them.
count_moments() {
    case $how in
    memory) cut -d ' ' -f 1 counts ;;
    later | earlier) cut -d ' ' -f 2 counts ;;
    power) perl "$top/t/lib/power_cut.pl" ops ;;
    *) sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' first ;;
    esac
}

# Which of $2 moments, for $1 disturbances.
spread() {
    awk -v n="$1" -v of="$2" -v how="$how" 'BEGIN {
        if (n > of && how != "kill") n = of
        for (i = 0; i < n; i++) print int(of * (i + .5) / n) + 1 }'
}

# After an error: what is wrong with the status $1 and the output.
judge() {
    if test "$1" -ge 126; then
        echo "it ended with status $1: $(cat first)"
    elif test "$1" -ne 0; then
        grep -q '^[A-Za-z_./]*: ' first || echo "it failed without a message"
    elif ! grep -q '^[A-Za-z_./]*: ' first; then
        (cd case && verify)
    fi
}

# A disturbance at the moment $1, and what is wrong after it.
disturb_once() {
    if test "$how" = power; then
        rm -rf case
        # every other time at the end, where it has announced the most
        cut=$1
        test $((tried % 2)) = 0 || cut=$moments
        perl "$top/t/lib/power_cut.pl" ops before "$cut" $((tried / 2)) case \
            >said
        (cd case && promised ../said)
    else
        run_disturbed "$1"
        status=$?
        case $how in
        kill*) test $status -ne 137 || echo >>killed ;;
        later | earlier)
            test $status -eq 0 || echo "it failed: $(cat first)"
            (cd case && verify)
            return
            ;;
        *) judge $status ;;
        esac
    fi
    (cd case && sh ../typed) >second 2>&1 ||
        echo "the next run failed with status $?: $(cat second)"
    (cd case && verify)
}

campaign() {
    how=$1 count=$2 what=$3 problem=
    printf '%s\n' "$4" >typed
    : >killed
    rm -rf before && mkdir before
    (cd before && prepare)
    run_disturbed 0
    bad=$(cd case && verify)
    moments=$(count_moments)
    tried=0
    test -n "$moments" -a -z "$bad" || problem="without it: $bad $(cat first)"
    for moment in $(spread "$count" "${moments:-0}"); do
        bad=$(disturb_once "$moment")
        tried=$((tried + 1))
        test -z "$bad" || problem="$problem
moment $moment: $bad"
        test "$(echo "$problem" | grep -c ^moment)" -lt 5 || break
    done
    test "${how#kill}" = "$how" -o -s killed || problem="nothing was killed; $problem"
    test $tried -gt 0 || problem="nothing was tried; $problem"
    echo "# $what, $how: $tried times at $moments moments"
    case $how in
    kill) name="$what, killed and run again, ends as if never killed" ;;
    kill:*) name="$what, killed at a change of ${how#kill:} and run again, is as \
if never killed" ;;
    full) name="$what survives a disk that is full from some moment on" ;;
    EMFILE) name="$what survives one EMFILE when it opens something" ;;
    E*) name="$what survives one $how when it changes a file" ;;
    memory) name="$what survives one allocation that fails" ;;
    later) name="$what survives a clock that jumps ahead by a year" ;;
    earlier) name="$what survives a clock that jumps back by a year" ;;
    power) name="$what keeps its word when the power fails" ;;
    esac
    is "$problem" "" "$name"
}
