#!/bin/sh
# gtrack best --paired: which runs may be the best.
. "$(dirname "$0")/../lib/tap.sh"

# log NAME OFFSET SEED: a run whose noise is that of all runs of a seed,
# and a little of its own
log() {
    awk -v name="$1" -v off="$2" -v seed="$3" 'BEGIN {
        own = length(name) * 7 + off * 1e6 + 13
        shared = seed * 101
        for (step = 1; step <= 400; step++) {
            shared = shared * 16807 % 2147483647
            own = (own * 16807 + 11) % 2147483647
            noise = (shared + 0.01 * own) / 2147483647
            printf "{\"step\": %d, \"train/loss\": %.9g}\n", step, \
                3 + 1 / step + off + noise
        }
    }' | gtrack log -p train.seed="$3" -p lr="$2" "$1" >out 2>&1
}
log good 0 1
log close 0.0002 1
log bad 0.01 1
gtrack best train/loss --paired --tsv --no-header good close bad >out 2>err
is $? 0 "best --paired compares runs"
is "$(cut -f 1,7 out | sort)" "bad${tab}worse
close${tab}may be best
good${tab}best" "a difference of a hundredth of the noise is found"
like err "good is the best, or close" \
    "the runs that may be best are named"
awk -F '\t' '$1 == "bad" { exit !($5 < 0.01 && 0.01 < $6 && $6 - $5 < 0.004) }' out
ok $? "the interval contains the difference and is narrow"
gtrack best train/loss --paired --max --tsv --no-header good bad >out 2>err
like err "bad is the best" "--max turns the order round"

# seeds whose own effect is larger than the difference
for seed in 1 2 3 4; do
    log "a$seed" "0.0$((seed % 2 * 2))" $seed
    log "b$seed" "0.0$((seed % 3 * 2 + 1))" $seed
    log "c$seed" "0.5$((seed % 2 * 2))" $seed
    for run in a b c; do
        gtrack tag $run$seed cell=$run >out 2>&1
    done
done
gtrack best train/loss --paired -g tags.cell --tsv --no-header -w 'tags.cell != ""' \
    >out 2>err
is "$(cut -f 1,2,7 out | tr '\t' ' ')" "a 4 best
b 4 may be best
c 4 worse" "groups are compared by their seeds"
like err "^gtrack: cell=a is the best, or cell=b$" \
    "groups are named by the columns that they are groups of"
awk -F '\t' '$1 == "b" { exit !($8 > 4) }' out
ok $? "the number of seeds that would decide is more than there are"
gtrack best train/loss --paired good >out 2>err
is $? 0 "one run alone is no error"
gtrack best val/loss --paired good >out 2>err
is $? 2 "a metric that no run has is refused"

# runs of one name, and of different lengths
for x in 1 2; do
    printf 'step=1 x=%d\nstep=%d x=2\n' $x $((x * 2)) |
        gtrack -r twins log same -q -p lr=3
done
gtrack -r twins best x --paired --tsv >out 2>err
grep -qE 'same \([0-9a-f]{8}\) is the best, or same \([0-9a-f]{8}\)$' err
ok $? "runs of the same name are told apart by their ids" "$(cat err)"
for command in "best x --group-by lr" "ls --group-by lr -c x"; do
    gtrack -r twins $command --tsv >out 2>err
    like err "1 of 1 groups average runs of different lengths, such as 2 and 4" \
        "a mean over runs of different lengths comes with a warning: $command"
done
for run in "1 1" "1 9" "2 3" "2 2" "3 4"; do
    printf 'step=1 y=%d\n' "${run#* }" |
        gtrack -r means log "run-${run#* }" -q -p lr="${run% *}"
done
gtrack -r means ls --group-by lr --sort y -c y --tsv --no-header >out
is "$(cut -f 1 out | tr '\n' ' ')" "2 3 1 " \
    "groups are sorted by their means, not by their best runs"
gtrack -r means ls --group-by lr --sort -y -c y --tsv --no-header >out
is "$(cut -f 1 out | tr '\n' ' ')" "1 3 2 " \
    "groups are sorted by their means in descending order, too"
gtrack -r twins best x --group-by lr --latex >out 2>err
like out '1\.5[0-9]* \\pm 0\.7[0-9]*\$ (std; 95\\% \$\\pm 6\.[0-9]*\$, \$n=2\$)' \
    "a table in LaTeX says what the interval after a mean is"

# The errors that are stated are those of simulated sweeps.
if test -x "$build/t/unit/paired.t"; then
    "$build/t/unit/paired.t" | sed -n 's/^# \(| .* |\)$/\1/p' >rows
    grep '^| [0-9]* | [0-9]* | [0-9]* | 0\.' "$top/doc/sweeps.md" >stated
    test -s rows && cmp -s rows stated
    ok $? "doc/sweeps.md has the table of the simulation" "$(diff rows stated)"
else
    skip "t/unit/paired.t is not built"
fi

# many runs: 20 as good as each other
for i in 1 2 3 4; do
    for run in d e f g h; do
        printf 'step=1 x=%d\nstep=2 x=2\n' $i | gtrack -r many log $run$i -q
    done
done
gtrack -r many best x --paired --tsv >out 2>err
like err "one of these 19: \([a-h][1-4], \)\{10\}\.\.\.$" \
    "the message names ten of the runs that may be best"
done_testing
