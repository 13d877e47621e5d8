#!/bin/sh
# gtrain bench measures steps, operations and threads.
. "$(dirname "$0")/../lib/tap.sh"
bench() {
    gtrain bench -s model.layers=2 -s model.heads=2 -s model.width=32 \
        -s model.vocab=65 -s model.context=16 -s train.micro_batch=4 \
        -s train.batch=4 -s train.device=cpu -s train.threads=2 \
        -n 3 --warm-up 1 "$@" >out 2>err
}

bench --tsv && test "$(head -n 1 out | cut -f1,2)" = "parameters	ms/step"
ok $? "bench prints the time of a step"
bench --tsv --no-header --profile && cut -f1 out | sort >profile &&
    grep -qx linear_bwd profile && grep -qx optimiser profile
ok $? "--profile lists the operations of a step"
bench --tsv --timeline line.json && is "$(head -n 1 out | tr '\t' ,)" \
    "operation,calls,ms/step,share,running,no core,waiting,page faults" \
    "--timeline lists what the threads did in each operation"
awk -F '\t' 'NR > 1 && ($5 + $6 + $7 < 99.8 || $5 + $6 + $7 > 100.2) { n++ }
    END { exit n > 0 }' out
ok $? "the parts of the threads' time in --timeline add up to all of it"
sed 1d out | cut -f1 | sort | cmp -s - profile
ok $? "--timeline lists the operations of --profile"
perl -MJSON::PP -e '
    local $/;
    my (%end, %calls);
    my $bad = 0;
    for my $e (@{decode_json(<STDIN>)->{traceEvents}}) {
        my $thread = $e->{tid};
        next if $e->{ph} ne "X";
        $bad++ if $e->{dur} < 0 || $e->{ts} + 0.01 < ($end{$thread} // 0);
        $end{$thread} = $e->{ts} + $e->{dur};
        next if $e->{name} =~ /^(no core|waiting)$/;
        $bad++ if !$e->{args};
        $calls{$e->{name}}[$thread]++;
    }
    print join(" ", $bad, @{$calls{optimiser}}), "\n"' <line.json >out 2>err
is "$(cat out)" "0 4 4" \
    "the timeline has each operation of all steps on both threads, in order"
gplot timeline line.json --data >out 2>err &&
    grep -q "^What the threads did.*, [0-9.]*%" out
ok $? "gplot timeline draws the timeline"
bench --timeline nowhere/line.json
test $? = 1 && grep -q nowhere err
ok $? "a timeline that cannot be written is an error"
bench --timeline line.json --profile
test $? = 2 && grep -q exclude err
ok $? "--timeline and --profile exclude each other"
done_testing
