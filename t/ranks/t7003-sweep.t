#!/bin/sh
# A search: what would stop every cell is found before the first one starts, a
# cell that fails says why, the parent tells how it went, and the same command
# runs what is missing; then the tables.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
for program in gtrain gtrack gplot; do
    test -x "$build/$program" || skip_all "$program is not built"
done
make_ranks_case
small_ini train.threads= data.train=train_0.bin data.val=train_0.bin \
    model.width=32 model.context=8 model.vocab=97 train.micro_batch=2 \
    schedule.steps=4 eval.sequences=4 >base.ini
# refused WHAT STATUS WORDS: the sweep in s.ini ends so, and starts nothing
refused() {
    gtrain sweep s.ini >out 2>&1
    status=$?
    bad=
    test $status -eq "$2" || bad="status $status; "
    grep -q "$3" out || bad="${bad}does not say '$3'; "
    test ! -e sweeps -a ! -e mlruns || bad="${bad}something was started; "
    is "${bad:+$bad$(cat out)}" "" "the sweep is refused before it starts: $1"
}

head='[sweep]
base = base.ini
[grid]
optim.lr = 1e-2, 1e-3'
printf '%s\nmodel.width = 32, 33\n' "$head" >s.ini
refused "shapes that do not fit" 2 "s.ini:5: model.width: 33 is not a multiple"
printf '%s\nmodel.widht = 32, 64\n' "$head" >s.ini
refused "a misspelt axis" 2 "s.ini:5: unknown setting model.widht; did you mean"
printf '%s\n[train]\nbatch = 3\n' "$head" >s.ini
refused "a step that no micro-batch divides" 2 "s.ini:6: train.batch: 3 is no"
printf '%s\n[data]\ntrain = nothing_*.bin\n' "$head" >s.ini
refused "data that are not there" 3 "s.ini:6: data.train"
printf '%s\n[train]\ndevice = tpu\n' "$head" >s.ini
refused "a device that is not there" 2 "s.ini:6: train.device: no device 'tpu'"
printf '%s\n[eval]\nevery = 0\n' "$head" >s.ini
refused "a metric that no cell would have" 2 "eval.every: comparing cells by val"

# one cell of four fails: a rate that no loss survives
cat >s.ini <<'END'
[sweep]
base = base.ini
parallel = 2
[grid]
optim.lr = 1e-2, 1e3
model.width = 32, 64
[optim]
clip = 0
decay = 1
[schedule]
steps = 30
END
parent() { gtrack show "$(cat sweeps/s/parent)" --json 2>&1; }
gtrain sweep s.ini >out 2>err
status=$?
bad=
test $status -eq 1 || bad="status $status"
grep -q '2 of 4 cells failed' err || bad="$bad, not counted"
grep -q 'failed with status 5: step .: the loss is' err || bad="$bad, no reason"
test "$(grep -c FINISHED out)" -eq 2 || bad="$bad, the others"
is "${bad:+$bad: $(cat err out)}" "" "a cell that fails says why"
bad=
parent | grep -q '"FAILED"' || bad="parent: $(parent)"
is "$bad" "" "the parent of a failed cell has failed"

# status while nothing runs, and again: what failed is tried again
bad=
gtrain sweep status s.ini --tsv >out 2>&1
test "$(grep -c FAILED out)" -eq 2 || bad="output: $(cat out)"
gtrain sweep s.ini >out 2>&1
grep -q '2 of 4 cells to run' out || bad="$bad output: $(cat out)"
is "$bad" "" "the command run again tries the failed cells"

cat >s.ini <<'END'
[sweep]
base = base.ini
parallel = 2
seeds = 2
[grid]
optim.lr = 1e-2, 1e-3
model.width = 32, 64
END
bad=
gtrain sweep s.ini --folder grid >out 2>&1 || bad="output: $(cat out)"
test "$(grep -c FINISHED out)" -eq 8 || bad="$bad output: $(cat out)"
id=$(cat grid/parent)
gtrack show "$id" --json | grep -q '"FINISHED"' || bad="$bad parent"
is "$bad" "" "a sweep of two seeds runs all eight cells"
gtrack hours -g id --tsv --no-header >by_id
gtrack hours -g experiment --tsv --no-header >by_experiment
bad=$(awk -v one="$id" -v two="$(cat sweeps/s/parent)" '
    NR == FNR { if ($1 == one || $1 == two) waiting += $4; else sum += $4; next }
    $4 < 0.999 * sum || $4 > 1.001 * sum || waiting <= 0 {
        print $4, "of all, " sum, "of cells, " waiting, "of sweeps" }' \
    by_id by_experiment)
is "$bad" "" "the hours of a sweep are not added to those of its cells"

# best by size, and what depends on the rate: from the metrics themselves
bad=
gtrain sweep report s.ini --folder grid --tsv >report 2>&1 ||
    bad="output: $(cat report)"
gtrain sweep status s.ini --folder grid --tsv 2>/dev/null >cells
bad=$bad$(perl -e '
    my %mean; my @c = do { open my $f, "<", "cells"; <$f> };
    chomp @c; my @h = split /\t/, shift @c;
    for (@c) { my %r; @r{@h} = split /\t/;
        $mean{$r{"model.width"}}{$r{"optim.lr"}} += $r{"val/loss"} / 2 }
    my @t = do { open my $f, "<", "report"; <$f> };
    chomp @t; @h = split /\t/, shift @t;
    print "rows: @t\n" unless @t == 2;
    for (@t) { my %r; @r{@h} = split /\t/; my $m = $mean{$r{"model.width"}};
        my ($best) = sort { $m->{$a} <=> $m->{$b} } keys %$m;
        my $spread = 0;
        for (keys %$m) {
            my $x = $m->{$_} < log(97) ? $m->{$_} : log(97);
            $spread += ($x - $m->{$best}) / 2 if $x > $m->{$best};
            print "$_: $r{qq(optim.lr=$_)}, want $m->{$_}\n"
                if abs($r{"optim.lr=$_"} - $m->{$_}) > 1e-9 }
        print "best: $_" if $r{"best optim.lr"} != $best ||
            abs($r{"val/loss"} - $m->{$best}) > 1e-9 ||
            $r{"parameters"} !~ /^[1-9]\d+$/ ||
            abs($r{"sensitivity"} - $spread) > 1e-9 }' 2>&1)
is "$bad" "" "the report has the best of each size and the sensitivity"
bad=
gtrack compare --sweep "$id" --across --tsv >out 2>&1 ||
    bad="output: $(cat out)"
test "$(wc -l <out)" -eq 9 || bad="$bad output: $(cat out)"
gtrack best val/loss --sweep s >out 2>&1 || bad="$bad output: $(cat out)"
gplot sweep optim.lr val/loss --script script >out 2>&1 ||
    bad="$bad output: $(cat out)"
is "$bad" "" "gtrack compare, gtrack best and gplot sweep read a sweep"

# halving: of six cells two go on
cat >h.ini <<'END'
[sweep]
base = base.ini
method = halving
rungs = 2
eta = 3
[grid]
optim.lr = logspace(1e-4, 1e-2, 6)
END
bad=
gtrain sweep h.ini >out 2>&1 || bad="output: $(cat out)"
gtrain sweep status h.ini --tsv 2>/dev/null |
    awk -F'\t' 'NR > 1 { n[$5]++ } END { print n[2] + 0, n[4] + 0 }' >steps
test "$(cat steps)" = "4 2" || bad="$bad steps: $(cat steps out)"
is "$bad" "" "successive halving continues two of six cells"

# dropping: the cell that does not learn is worse, two that are alike are not
cat >d.ini <<'END'
[sweep]
base = base.ini
method = halving
rungs = 2
eta = 2
drop = 0.05
[grid]
optim.lr = 1e-9, 1e-2, 1.0001e-2
[schedule]
steps = 320
END
gtrain sweep d.ini >out 2>&1
ok $? "a sweep that drops cells ends well"
gtrain sweep status d.ini --tsv 2>/dev/null |
    awk -F'\t' 'NR > 1 { n[$5]++ } END { print n[160] + 0, n[320] + 0 }' >steps
is "$(cat steps)" "1 2" "a cell that is worse is dropped, two equal ones are not"
like out "2 of 3 cells are not worse than the best" "the choice is reported"

# a search that is told to stop: its cells save, and it goes on
cat >long.ini <<'END'
[sweep]
base = base.ini
parallel = 2
[grid]
optim.lr = 1e-2, 1e-3
[schedule]
steps = 100000
[checkpoint]
every = 2
END
bad=
gtrain sweep long.ini >out 2>&1 &
pid=$!
await_path 'sweeps/long/cells/*/step-00000004' $pid
gtrack show "$(cat sweeps/long/parent)" --json 2>&1 | grep -q '"RUNNING"' ||
    bad="the parent does not run; "
gtrain sweep status long.ini --tsv >table 2>&1
grep -q RUNNING table || bad="$bad status: $(cat table)"
gtrain sweep long.ini >again 2>&1
again="$? $(grep -c 'is being written by process [1-9]' again)"
kill -TERM $pid
wait $pid
status=$?
test $status -eq 75 || bad="$bad status $status: $(cat out)"
gtrack show "$(cat sweeps/long/parent)" --json 2>&1 | grep -q '"KILLED"' ||
    bad="$bad the parent was not stopped"
is "$bad" "" "SIGTERM stops all cells after a checkpoint"
is "$again" "7 1" "a sweep that another process runs is refused, and says which"

mkdir elsewhere
sed 's/_0/_[0]/' base.ini >elsewhere/own.ini
printf '[sweep]\nbase = own.ini\n[grid]\noptim.lr = 1e-2\n' >elsewhere/in.ini
check "the base of a sweep is relative to its file" gtrain sweep elsewhere/in.ini
done_testing
