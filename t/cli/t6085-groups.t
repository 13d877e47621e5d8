#!/bin/sh
# Groups and sweeps say which runs they are of, and average seeds alone.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

make_store grid seeds
panel() { perl -CO -MJSON::PP -0777 -ne '$j = decode_json($_);
    $p = $j->{panels}[0]; print join "; ", '"$2" "$1"; }
notes='@{$j->{notes}}'

# A curve for each size; bars are for seeds.
gplot sweep lr val/loss "experiment = 'grid'" -o sizes.json >out 2>err
is "$(panel sizes.json 'map { $_->{label} . " " . @{$_->{x}} } @{$p->{curves}}')" \
    "width 128 4; width 256 4; width 384 4" "a sweep has a curve for each size"
is "$(panel sizes.json 'grep { $_->{bars} } @{$p->{curves}}')" "" \
    "a curve of single runs has no bars"
like sizes.json "The best, circled: 3.0487 at lr 0.0003, width 384" \
    "a note says which point is the best"
like out "^0.0003 *384 *3.04" "the table of a sweep has the sizes"
gplot sweep lr val/loss "experiment = 'grid'" >out 2>err
like out "width 128.*width 256.*width 384" "the terminal has a curve for each size"
gplot sweep lr val/loss "experiment = 'seeds'" -o seeds.json >out 2>err
is "$(panel seeds.json 'map { "$_->{style} " . ($_->{bars} ? "bars" : "") }
    @{$p->{curves}}')" "points ; line-points bars" "seeds have a mean with bars"
is "$(panel seeds.json "$notes")" "Means over seeds (n = 3); bars show ± one \
standard deviation. Pale points are single runs.; The best, circled: 3.7021 at \
lr 0.001." "notes say what bars are, and which point is the best"
for i in 1 2; do
    echo "step=1 val/loss=$i" | gtrack log -p optim.lr=0.1 -p model.width=8 \
        -p train.seed="$i" "map-$i" >>log 2>&1
done
gplot sweep lr,width val/loss 'map-*' -o map.json >out 2>err
is "$(panel map.json "$notes")" "Means over seeds (n = 2).; The best is marked." \
    "a note says that a map shows means over seeds"
for i in $(seq 14); do
    printf 'step=1 val/loss=%d\n' "$i" |
        gtrack log -p optim.lr=0.1 -p model.width="$i" "mix-$i" >>log 2>&1
done
gplot sweep optim.lr val/loss "name like 'mix%'" -o mixed.json >out 2>err
is "$(panel mixed.json 'map { $_->{bars} ? "bars" : "" } @{$p->{curves}}')" "; " \
    "a mean over sizes has no bars"
like mixed.json "Means are over runs that differ in model.width as well" \
    "a mean over sizes says so"

gplot metric val/loss "experiment = 'grid'" --group-by lr -o means.json >out 2>err
like means.json "The runs of a group differ in model.width as well" \
    "a mean of runs of several sizes says so"
gplot metric val/loss "experiment = 'seeds'" --group-by lr -o means.json >out 2>err
unlike means.json "The runs of a group differ" "seeds are no difference"

# Runs that are gone: 2 finish, 3 are no longer finite, 1 ends too early.
series() {      # LAST FROM: losses up to a step, which are NaN from another on
    awk "BEGIN { for (i = 1; i <= $1; i++)
        print \"step=\" i, \"val/loss=\" (i < $2 ? 3 + 5 / i : \"NaN\") }"
}
for i in 1 2 3 4 5 6; do
    last=100 from=1000
    test $i -lt 3 || from=60
    test $i -lt 6 || last=40 from=1000
    series $last $from |
        gtrack log -p optim.lr=0.2 -p train.seed=$i "gone-$i" >>log 2>&1
done
gplot metric val/loss "name like 'gone%'" --group-by lr -o gone.json >out 2>err
like out "lr = 0.2 (n = 6 to 2)" "the table says how many runs are left"
like gone.json "lr = 0.2: 2 of 6 remain at the end; 3 not finite, 1 ended" \
    "a note says how many runs are left, and why"
is "$(panel gone.json 'map { $_->{at_x} } grep { $_->{small} } @{$p->{marks}}')" \
    "59; 59; 59; 40" "ticks show where runs are gone"
gplot metric val/loss "name like 'gone%'" -o bad.json >out 2>err
like bad.json "Not finite (×): gone-3 from step 60, gone-4 from step 60, " \
    "the runs that are not finite are named"
for i in 7 8; do
    series 100 50 |
        gtrack log -p optim.lr=0.2 -p train.seed=$i "gone-$i" >>log 2>&1
done
gplot metric val/loss "name like 'gone%'" -o bad.json >out 2>err
like bad.json "Not finite (×), 5 runs: gone-3 .*, and 2 more" \
    "of many runs that are not finite, three are named"

# Runs that have not finished.
gtrack exec -p optim.lr=0.2 -p train.seed=9 --name gone-9 -- \
    sh -c 'echo step=1 val/loss=9; exit 1' >>log 2>&1
gtrack ls "name = 'gone-9'" -c status --tsv >out 2>&1
like out FAILED "a run has failed"
gplot sweep lr val/loss "name like 'gone%'" -o all.json >out 2>err
like all.json "Counted, but not finished: 1 of 9 runs (1 failed)" \
    "a sweep says that a failed run counts"
like out "^0.2 .* 9$" "a failed run counts"
like all.json "The val/loss of 5 runs is not finite at the end" \
    "a sweep says that the best value of a diverged run counts"
gplot sweep lr val/loss "name like 'gone%'" --finished -o some.json >out 2>err
like some.json "Left out, not finished: 1 of 9 runs (1 failed)" \
    "--finished says what it leaves out"
like out "^0.2 .* 8$" "--finished leaves a failed run out"
gplot loss gone-9 --finished >out 2>err
is $? 3 "--finished that leaves no run is an error"
done_testing
