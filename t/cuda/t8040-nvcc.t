#!/bin/sh
# Kernels compiled for a GPU keep their numbers in registers: none spills, and
# none has a stack frame, but those named here.
build=${top_builddir:-.}

# rope: the sine of a double, whose rare path for huge angles needs a table
# flash_fwd with dropout (Lb1): its random numbers need more than there are
frames='rope|flash_fwd.*Lb1E' spills='flash_fwd.*Lb1E'

set -- "$build"/kernels/*.cuo.log
if ! test -f "$1"; then
    echo "1..0 # SKIP no kernels were compiled by nvcc in this build"
    exit 0
fi
echo 1..3
report=$(cat "$@" | awk -v frames="$frames" -v spills="$spills" '
    /Compiling entry function/ {
        name = $0; sub(/.*function .*_Z[A-Z]*[0-9]*/, "", name); kernels++ }
    /bytes stack frame/ {
        split($0, w, " ")
        if (w[5] + w[9] > 0 && name !~ "^(" spills ")") print "spills", name, $0
        if (w[1] > 0 && name !~ "^(" frames ")") print "frame", name, $0 }
    END { print "kernels", kernels + 0 }')
archs=$(cat "$@" | sed -n "s/.*entry function.*for '\(sm_[0-9]*\)'.*/\1/p" |
    sort -u | paste -sd' ' -)
count=$(echo "$report" | sed -n 's/^kernels //p')
result() {
    if test -z "$2"; then echo "ok $1 - $3"; else
        echo "not ok $1 - $3"
        echo "$2" | sed 's/^/# /'
    fi
}
result 1 "$(test "$count" -gt 50 || echo "$count kernels")" \
    "ptxas reports on $count kernels, for $archs"
result 2 "$(echo "$report" | grep '^spills')" "none but the stated ones spills a register"
result 3 "$(echo "$report" | grep '^frame')" \
    "none but the stated ones has a stack frame"
