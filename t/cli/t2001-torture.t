#!/bin/sh
# A disk that is full, or broken, at any one moment or from then on: the
# writer goes on, and what is in the store is whole.
GTRACK_CACHE=
export GTRACK_CACHE
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS
tool=${top_builddir:-.}/t/lib/store-tool
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
long=${GT_LONG:-}
n=0
ok() {
    n=$((n + 1))
    if test "$1" -eq 0; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

strace -qq -o /dev/null true 2>/dev/null || {
    echo "1..0 # SKIP no strace, or no right to trace"
    exit 0
}

# try CALL ERROR WHEN: one run with a failure injected.  Sets $ret.
try() {
    rm -rf "$dir/s"
    timeout 20 strace -f -qq -o "$dir/trace" -e "trace=$1" \
        -e "inject=$1:error=$2:when=$3" "$tool" write "$dir/s" 300 \
        >"$dir/out" 2>"$dir/err"
    ret=$?
}

# What must hold after any of them.
whole() {
    bad=
    if "$tool" check "$dir/s" >"$dir/check" 2>"$dir/check.err"; then
        : # whole, whatever happened
    elif test -d "$dir/s"; then
        bad="damaged: $(cat "$dir/check.err")"
    fi
    case $ret:$(cat "$dir/check") in
    0:"1 runs 900 points"*) ;;
    0:*) bad="points are missing: $(cat "$dir/check")" ;;
    124:*) bad="it hangs" ;;
    *) test -s "$dir/err" || test "$1" = mute || bad="failed without a word" ;;
    esac
    test "$(grep -c warning: "$dir/err")" -le 1 || bad="warned more than once"
    test -z "$(find "$dir/s" -name '*.tmp' 2>/dev/null)" ||
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
            grep -q INJECTED "$dir/trace" || break
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
        test -z "$problem" || echo "# $problem"
        test $count -gt 0 && test -z "$problem"
        ok $? "$call fails once with $error, at any of $count moments"
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
    test -z "$problem" || echo "# $problem"
    test -z "$problem"
    ok $? "$call fails from some moment on: whole, and it is said what is lost"
done
echo "1..$n"
