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
: >"$run/.gtrack/value.fedcba9876543210.tmp"
echo step=2 loss=2 | gtrack -r s log --resume a -q
is "$(ls "$run/.gtrack" | grep tmp)" value.fedcba9876543210.tmp \
    "an attempt removes what was left before, and not what is just written"

done_testing
