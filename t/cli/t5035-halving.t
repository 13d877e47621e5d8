#!/bin/sh
# gtrack sweep with halving: groups of seeds are kept or dropped as a whole.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
unset GTRACK_RESUME

# train.sh VALUE STEPS: log a value that falls with the steps, and note the call
cat >train.sh <<'END'
#!/bin/sh
run=$(gtrack run start) || exit 1
echo "$GTRACK_SWEEP_CELL ${2:-1}" >>calls
gtrack run log "$run" --step "${2:-1}" "val/loss=$1" || exit 1
gtrack run end "$run"
END
chmod +x train.sh
# column NAME: the values of a column of the table in out
column() {
    awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
        NR > 1 { print $c }' out
}
steps() { column step | tr '\n' ' '; }
halving="--set sweep.method=halving --set sweep.rungs=2 --set sweep.steps=6"

# Seed 2 of b has the lowest value, but a has the lowest mean.
cat >value.sh <<'END'
#!/bin/sh
case $1$2 in a?) v=2 ;; b1) v=4 ;; b2) v=1 ;; *) v=9 ;; esac
exec ./train.sh $v "$3"
END
chmod +x value.sh
# shellcheck disable=SC2086 # words
gtrack sweep -o whole $halving --seeds 2 --grid x=a,b,c --tsv \
    -- ./value.sh '{x}' '{seed}' '{sweep.steps}' >out 2>err
is "$? $(steps)" "0 6 6 2 2 2 2 " "seeds continue together, by the mean of their group"
like err "rung 1 of 2 is complete: 1 of 3 groups of seeds continue" \
    "the message counts groups of seeds"
gtrack sweep report -o whole --seeds 2 --grid x=a,b,c --by x --tsv >out 2>err
like err "not at equal steps: the cells have 2 to 6 steps" \
    "report says that cells of different lengths stand side by side"

# A curve that is higher by OFFSET, with noise of its own.
cat >curve.sh <<'END'
#!/bin/sh
# curve.sh OFFSET SEED STEPS
awk -v off="$1" -v x="$2" -v n="$3" 'BEGIN {
    x = x * 7919 + off * 1e7 + 17
    for (i = 1; i <= n; i++) {
        x = x * 16807 % 2147483647
        printf "step=%d val/loss=%.6f\n", i, off + x / 2147483647
    }
}'
END
chmod +x curve.sh
drop="--set sweep.method=halving --set sweep.rungs=2 --set sweep.steps=200 --set sweep.drop=0.05 --set sweep.eta=2"
# shellcheck disable=SC2086
gtrack sweep -o equal $drop --seeds 8 --tsv -- gtrack exec -- ./curve.sh 0 '{seed}' '{sweep.steps}' >out 2>err
is "$? $(column step | sort | uniq -c | tr -s ' ')" "0  8 200" \
    "no seed of a setting is dropped for another one's luck"
# shellcheck disable=SC2086
gtrack sweep -o worse $drop --seeds 4 --grid x=0,3,0.001 --tsv \
    -- gtrack exec -- ./curve.sh '{x}' '{seed}' '{sweep.steps}' >out 2>err
is "$(steps)" "200 200 200 200 100 100 100 100 200 200 200 200 " \
    "a group that is worse is dropped, and one that may be as good is not"
like err "2 of 3 groups of seeds are not worse than the best" \
    "the message says how many groups are not worse"

done_testing
