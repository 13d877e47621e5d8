#!/bin/sh
# A disk that is full, or broken, at any one moment or from then on: the
# writer goes on, and what is in the store is whole.
. "$(dirname "$0")/../lib/tap.sh"
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
tool=$build/t/lib/store_tool
long=${GT_LONG:-}

strace -qq -o /dev/null true 2>/dev/null ||
    skip_all "no strace, or no right to trace"

# try CALL ERROR WHEN: one run with a failure injected.  Sets $ret.
try() {
    rm -rf s
    timeout 20 strace -f -qq -o trace -e "trace=$1" \
        -e "inject=$1:error=$2:when=$3" "$tool" write s 300 \
        >out 2>err
    ret=$?
}

# What must hold after any of them.
whole() {
    bad=
    if "$tool" check s >check 2>check.err; then
        : # whole, whatever happened
    elif test -d s; then
        bad="damaged: $(cat check.err)"
    fi
    case $ret:$(cat check) in
    0:"1 runs 900 points"*) ;;
    0:*) bad="points are missing: $(cat check)" ;;
    124:*) bad="it hangs" ;;
    *) test -s err || test "$1" = mute || bad="failed without a word" ;;
    esac
    test "$(grep warning: err | grep -cv 'the name of the experiment')" -le 1 ||
        bad="warned more than once"
    test -z "$(find s -name '*.tmp' 2>/dev/null)" ||
        bad="a temporary file is left"
}

calls="openat write rename fsync mkdir close"
for call in $calls; do
    for error in ENOSPC EIO; do
        case $long$error$call in        # half of it is enough every day
        EIOopenat|EIOrename|EIOmkdir|ENOSPCfsync|ENOSPCclose) continue ;;
        esac
        problem=
        count=0
        when=1
        while :; do
            try "$call" "$error" "$when"
            grep -q INJECTED trace || break
            count=$((count + 1))
            whole
            test -z "$bad" || problem="$problem; $when: $bad"
            # strace sees each call below the store; not all are needed always
            if test -n "$long" || test "$when" -lt 6; then
                when=$((when + 1))
            else
                when=$((when + 9))
            fi
        done
        test $count -gt 0 || problem="no call was made"
        is "$problem" "" \
            "the store survives one $error of $call at any of $count moments"
    done
done

for call in write openat rename; do
    problem=
    for when in 3 9 25 33 60; do
        try "$call" ENOSPC "$when+"
        case $call in           # it cannot write to us either
        write) whole mute ;;
        *) whole ;;
        esac
        test -z "$bad" || problem="$problem; $when: $bad"
    done
    is "$problem" "" \
        "the store survives ENOSPC of every $call from some moment on"
done
done_testing
