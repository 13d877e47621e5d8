#!/bin/sh
# Kernels compiled for a GPU keep their numbers in registers: none spills, and
# none has a stack frame, but those named here.
. "$(dirname "$0")/../lib/tap.sh"

# rope: the sine of a double, whose rare path for huge angles needs a table
# flash_fwd with dropout (Lb1): its random numbers need more than there are
# plain_bwd_keys, for heads that the matrix units cannot take: two registers on
# sm_90, since it also looks at windows; plain_bwd_queries, five on sm_120
spills='flash_fwd.*Lb1E|plain_bwd_(keys|queries)' frames="rope|$spills"

set -- "$build"/kernels/cuda/*.cuo.log
test -f "$1" || skip_all "no kernels were compiled by nvcc in this build"
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
test "$count" -gt 50
ok $? "ptxas reports on more than 50 kernels, for $archs" "$count kernels"
is "$(echo "$report" | grep '^spills')" "" \
    "no kernel but the stated ones spills a register"
is "$(echo "$report" | grep '^frame')" "" \
    "no kernel but the stated ones has a stack frame"
done_testing
