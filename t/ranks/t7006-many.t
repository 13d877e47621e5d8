#!/bin/sh
# Jobs of more ranks than are linked directly: what they send, how they end, and
# that their weights are those of one process.
. "$(dirname "$0")/../lib/tap.sh"
takes_minutes
. "$top/t/lib/fixtures.sh"
make_ranks_case

# train RANKS MODE: the hash of the weights after three steps
train() {
    rm -rf ck
    "$gtrain" -q --config c.ini --ranks "$1" --root "run-$1-$2" \
        --set train.batch=40 --set parallel.mode="$2" --set eval.every=0 \
        --set run.system_every=1m \
        --set checkpoint.folder=ck >log 2>&1
    sums ck
}
system_metrics() {
    (cd run-*-fsdp/0/*/metrics/system && find . -name rss_bytes | sort)
}
want=$(train 1 ddp)
for mode in ddp fsdp; do
    is "$(train 20 $mode)" "$want" \
        "20 ranks with $mode compute the bits of one process"
done

is "$(system_metrics)" "./max/rss_bytes
./mean/rss_bytes
./min/rss_bytes
./rss_bytes" "of 20 ranks, the least, mean and largest memory are recorded"
bad=$(paste -d ' ' run-*-fsdp/0/*/metrics/system/min/rss_bytes \
    run-*-fsdp/0/*/metrics/system/mean/rss_bytes \
    run-*-fsdp/0/*/metrics/system/max/rss_bytes |
    awk '!($2 <= $5 && $5 <= $8 && $2 > 1e6) { print } END { if (!NR) print "none" }')
is "$bad" "" "the mean is between the least and the largest"

python=${GT_PYTHON:-python3}
if "$python" -c '' 2>/dev/null; then
    "$python" -B "$top/bench/ranks" 24 64 >table 2>err
    ok $? "bench/ranks runs jobs of 24 and of 64 ranks" "$(tail -n 5 err)"
    awk -F "$tab" '{ extra = $7 - $8 } NR > 1 && extra >= 0 && extra < 1000 {
        rows++ } END { exit rows != 2 }' table
    ok $? "ranks send a kilobyte a step besides the gradients" "$(cat table)"
    awk -F "$tab" '$1 == 24 { few = $6 } $1 == 64 { many = $6 }
        END { exit !(few > 0 && many / 6 <= few / 5 * 1.1) }' table
    ok $? "messages grow like the logarithm of the number of ranks" \
        "$(cat table)"
    awk -F "$tab" '$9 ~ /^[0-9.]+$/ && $10 ~ /^[0-9.]+$/ { rows++ }
        END { exit rows != 2 }' table
    ok $? "a killed rank is named, and a signal leaves a checkpoint" \
        "$(cat table)"
else
    skip "bench/ranks runs jobs of 24 and of 64 ranks" "needs python3"
fi
done_testing
