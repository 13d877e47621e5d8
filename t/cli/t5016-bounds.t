#!/bin/sh
# A damaged or hostile run does not delay the others: what is read of one run is
# bounded.  The calls of the programs are counted instead of the time.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
disturb=$build/t/lib/disturb
"$disturb" -n 1 true
test $? = 137 || skip_all "system calls cannot be supervised here"

# Run gtrack and print how many calls it makes; its output goes to `out`.
calls() {
    "$disturb" gtrack "$@" >out 2>err </dev/null
    sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' err
}
# Take at most $2 calls more than without the damage to list the good run, and
# also the other commands that read all runs.
bounded() {
    bad=
    for command in 'ls --tsv' 'ls --markdown' 'show good' 'fsck'; do
        # shellcheck disable=SC2086 # a command and its options
        n=$(calls -r s $command)
        test "${n:-99999999}" -le $((usual + $2)) &&
            { test "$command" = fsck || grep -q good out; } ||
            bad="$bad $command: $n calls, usual $usual: $(tail -n 3 out err)"
    done
    is "$bad" "" "$1"
}
new_store() {
    rm -rf s && cp -r clean s
    run=$(gtrack -r s where odd)
    mkdir -p "$run/params" "$run/artifacts" "$run/inputs/i"
}

echo 'step=1 loss=2' | gtrack log -r clean good 2>err
echo 'step=1 loss=2' | gtrack log -r clean odd 2>err
new_store
usual=0
for command in 'ls --tsv' 'ls --markdown' 'show good' fsck; do
    # shellcheck disable=SC2086 # a command and its options
    n=$(calls -r s $command)
    test "$n" -le $usual || usual=$n
done
test $usual -gt 50
ok $? "the calls of a program are counted" "$usual"

if truncate -s 10G s/hole 2>err; then
    mv s/hole hole
    for place in meta.yaml params/p tags/t metrics/m artifacts/a \
        .gtrack/attempt.1.yaml .gtrack/rewinds inputs/i/meta.yaml; do
        new_store
        mv hole "$run/$place"
        bounded "a file of 10 GB without content delays nothing as $place" 2000
        mv "$run/$place" hole
    done
    rm hole
else
    skip "a file of 10 GB without content delays nothing" "no sparse files"
fi
if truncate -s 1T hole 2>err; then
    new_store
    truncate -s 1T "$run/artifacts/a" "$run/metrics/m"
    gtrack -r s ls --tsv -c name,damage --no-header >out
    like out "odd.*metrics/m is not read: it has 1.00 TiB" \
        "a metric of a terabyte that is a hole is damage"
    rm "$run/metrics/m"
    gtrack -r s export odd --to tar -o odd.tar 2>err && mkdir back &&
        tar -xf odd.tar -C back && test "$(stat -c %s back/mlruns/*/*/artifacts/a)" = 1099511627776 &&
        test "$(du -sk back odd.tar | awk '{ n += $1 } END { print n }')" -lt 10000
    ok $? "a tar archive has a hole of a terabyte as a hole"
    gtrack -r s export odd --to mlflow -o copy >out 2>err
    like err "artifacts/a is not read: it has 1.00 TiB, and almost all of it is a hole" \
        "a file of a terabyte that is a hole is not copied"
    gtrack -r s bundle odd -o odd.bundle >out 2>err
    like err "artifacts/a is not read: it has 1.00 TiB" \
        "a file of a terabyte that is a hole is not bundled"
    rm -rf hole back odd.tar copy
else
    skip "a terabyte that is a hole is not read" "no sparse files"
fi
for place in meta.yaml params/p tags/t metrics/m artifacts/a \
    .gtrack/attempt.1.yaml .gtrack/rewinds inputs/i/meta.yaml; do
    new_store
    rm -f "$run/$place"
    mkfifo "$run/$place"
    bounded "a pipe delays nothing as $place" 2000
done

# ten thousand files and folders are read, at eight calls each
mkdir files && (cd files && seq -f k%05g 1 10500 | xargs touch)
for place in params tags metrics .gtrack inputs artifacts; do
    new_store
    rm -r "${run:?}/$place"
    mv files "$run/$place"
    n=$(calls -r s ls --tsv)
    test "$n" -le $((usual + 90000)) && grep -q good out
    ok $? "many files in $place delay nothing for long" "$n of $usual"
    case $place in
    params | tags | metrics)
        like out "/$place: has more than 10,000 files" \
            "ls says that the files of $place are not all read" ;;
    esac
    mv "$run/$place" files
done
new_store
for i in 1 2 3; do truncate -s 9M "$run/params/p$i"; done
g -r s ls --tsv
like out 'params/p[123].*larger than' \
    "the parameters of a run are read up to a size that is the sum of all"

# a limit on the time is only reached if the time grows with the square
new_store
perl -e 'print "rewind 1 1 1 0\n" x 1000000' >"$run/.gtrack/rewinds"
(ulimit -t 30 && gtrack -r s ls --tsv >out 2>err)
grep -q good out
ok $? "a million empty blocks of retracted points take no minutes"
perl -e 'print "rewind 1 1 1 1\n1 loss_of_a_layer\n" x 2200000' >"$run/.gtrack/rewinds"
g -r s ls -c damage --tsv && grep -q 'rewinds is larger than' out &&
    ! gtrack -r s metrics odd loss >out 2>err && test -s err
ok $? "no retracted point comes back when their list is too long"
echo step=1 loss=1 | gtrack -r s log --resume odd >out 2>err
test $? = 1 && grep -q 'last step of run odd is not known' err
ok $? "a run whose retracted points are too many is not resumed by its steps"
perl -e 'use File::Path; for my $i (1 .. 60) {
    my $r = sprintf("s/0/%032x", $i);
    mkpath(["$r/params", "$r/metrics"]);
    open my $m, ">", "$r/meta.yaml";
    print $m "artifact_uri: x\nexperiment_id: \"0\"\nrun_id: " .
        substr($r, 4) . "\nrun_name: r$i\nlifecycle_stage: active\n" .
        "start_time: 1700000000000\nend_time: 1700000001000\nstatus: 3\n";
    my $pair = int(($i + 1) / 2);
    for (1 .. 100) { open my $p, ">", "$r/params/p${pair}x$_"; print $p $i } }'
g -r s ls --markdown
test "$(head -n 1 out | tr -cd '|' | wc -c)" -lt 1100 &&
    grep -q '3000 different parameters' err && grep -q r60 out
ok $? "a table has no more columns than a thousand by itself"
done_testing
