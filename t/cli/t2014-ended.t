#!/bin/sh
# Of a run that has ended, readers look at four files and folders, and yet see
# all that our programs write to it.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

export GTRACK_CACHE="$dir/cache" GTRACK_ROOT="$dir/runs"

# long after everything was written, so that everything is cached
later() {
    GT_CLOCK_MS=4000000000000 gtrack "$@"
}
# list OPTION...: all that is shown of all runs and of the first one
list() {
    later ls --deleted --json --all "$@" 2>err && later show "$id" 2>err
}
# shown: does the cache give what the files give?
shown() {
    list >with && GTRACK_CACHE='' list >without && cmp -s with without &&
        test -s with
}

"$build/t/lib/mkruns" runs big:6:20:4
id=$(gtrack ls -n 1 -c id --tsv --no-header)
gtrack run log "$id" perf/mfu=20 && gtrack run log "$id" perf/mfu=5
run=$(gtrack where "$id")
shown && shown
ok $? "the cache gives what the files give"

if strace -o trace true 2>err; then
    strace -f -o trace -e trace=%file \
        "$build/gtrack" ls -c id,perf/mfu,status --tsv >out 2>err
    most=$(grep -o '[0-9a-f]\{32\}' trace | sort | uniq -c | sort -rn |
        awk 'NR == 1 { print $1 }')
    is "$most" 4 "a run that has ended and was not touched takes four calls"
    like out '	8\.00*	' "the mean of a rate is in the cache, too"
else
    skip "the calls of a run that has ended" "strace cannot trace here"
fi

# what our programs write
writes() {
    cat <<EOF
run log $id train/loss=7
run log $id train/other=7
run log $id new=7
run log $id --param late=1
run log $id --tag stage=test
run log $id --tag deep/er=1
run log $id --tag deep/est=1
tag $id stage=production
note $id text
mv $id renamed
run end $id --status failed
rm $id
restore $id
EOF
}
missed=
writes >all
while read -r line; do
    list >before
    # shellcheck disable=SC2086
    gtrack $line >out 2>err </dev/null || missed="$missed
gtrack $line fails: $(cat err)"
    shown || missed="$missed
not shown: gtrack $line"
    cmp -s before with && missed="$missed
shows nothing: gtrack $line"
    shown || missed="$missed
not shown from the cache: gtrack $line"
done <all
is "$missed" "" "whatever our programs write to a run that has ended is seen"

# a resumed run, while it is written and at its end
list >before
"$build/t/lib/store_tool" resume "$GTRACK_ROOT" 3 >out 2>err
shown && ! cmp -s before with && shown
ok $? "a run that goes on after its end is seen"

# the cache has its runs after the others, though its name comes before
echo loss=1 | gtrack log -e other deleted >out 2>err
mv "$(dirname "$(gtrack where deleted)")" runs/.trash/
shown && file=$(ls -i cache/*.index) && shown &&
    test "$(ls -i cache/*.index)" = "$file"
ok $? "a run of an experiment that is deleted is found in the cache"

# what MLflow writes
note=$run/tags/mlflow.note.content
list >before
printf rest >"$note" && shown && ! cmp -s before with
ok $? "a note that MLflow's page writes anew in place is seen"
list >before
printf rest >"$run/tags/stage" && shown && ! cmp -s before with
ok $? "a tag that MLflow's page writes anew in place is seen"

# what is written by hand
echo '1700000000000 999 1000' >>"$run/metrics/train/loss"
list >before
! shown
ok $? "a line that another program appends is not looked for"
list --fresh >with
GTRACK_CACHE='' list >without
cmp -s with without && ! cmp -s with before
ok $? "ls --fresh finds what another program appended"
list >with
cmp -s with without
ok $? "what ls --fresh has found is seen from then on"
echo '1700000000000 998 1001' >>"$run/metrics/train/loss"
shown
later fsck >out 2>err
ok $? "an edited run is not damaged"
like err 'renamed has been edited since it ended' "fsck names an edited run"
shown
ok $? "what fsck has found is seen from then on"
later fsck >out 2>err
unlike err edited "fsck finds nothing new in a run that was not touched"
list >before
later ls --fresh "$id" >out 2>err
shown && cmp -s before with
ok $? "ls --fresh of one run keeps the others"

# runs of MLflow's own
rm -rf "$run/.gtrack" "$run/tags/gtrack.colour"
shown && echo '1700000000000 997 1002' >>"$run/metrics/train/loss" && shown
ok $? "a run that no program of ours wrote is looked at as a whole"

# a writer that is killed at one of the last calls, among which are those that
# append
"$build/t/lib/mkruns" killed big:1:20:1
GTRACK_ROOT=$dir/killed
id=$(gtrack ls -n 1 -c id --tsv --no-header)
log() {
    "$build/t/lib/disturb" -c write "$@" \
        gtrack run log "$id" train/loss=7 >out 2>err
}
log
if test $? = 0; then
    all=$(grep -o '[0-9]*' err | tail -n 1) missed= appended=0
    for before in 9 8 7 6 5 4 3 2 1 0; do
        shown
        cp with was
        log -n $((all - before))
        shown && shown || missed="$missed
$before calls before the end"
        cmp -s was with || appended=$((appended + 1))
    done
    is "$missed" "" "points of a writer that was killed are seen"
    ok $((appended < 2 || appended > 9)) \
        "the writer was killed before it had appended and after that"
else
    skip "points of a writer that was killed" "calls cannot be supervised here"
fi
done_testing
