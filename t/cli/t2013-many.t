#!/bin/sh
# What commands over many runs cost: four times as many runs take four times
# the work, and little memory.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/campaign.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"

few=${long:+2500}
few=${few:-100}
many=$((4 * few))

# make_runs STORE N: as small as runs can be
make_runs() {
    seq -f "$1/0/a%031.0f/metrics" "$2" | xargs mkdir -p
    printf 'experiment_id: "0"\nname: Default\nlifecycle_stage: active\n' \
        >"$1/0/meta.yaml"
    awk -v store="$1" -v n="$2" 'BEGIN {
        for (i = 1; i <= n; i++) {
            id = sprintf("a%031d", i)
            at = store "/0/" id
            print "run_id: " id "\nrun_name: n" i "\nstatus: 3" \
                "\nlifecycle_stage: active\nexperiment_id: \"0\"" \
                "\nstart_time: " i "\nend_time: " i + 9 "\nuser_id: me" \
                "\nartifact_uri: " at "/artifacts" >(at "/meta.yaml")
            for (k = 1; k <= 20; k++)
                print k, 1 + i % 7 / k, k >(at "/metrics/x")
            close(at "/meta.yaml")
            close(at "/metrics/x")
        }
    }'
}
# make_csv N: the same runs as one file
make_csv() {
    echo run_id,run,experiment,metric,step,time_ms,value
    seq "$1" | awk '{ printf "%032d,n%d,Default,x,1,1700000000000,%d\n", $1, $1, $1 }'
}
for n in $few $many; do
    make_runs "runs$n" "$n"
    make_csv "$n" >"runs$n.csv"
done
unset GTRACK_ROOT

# cost N COMMAND: system calls, allocations, comparisons and KiB
cost() {
    for how in disturb shim; do
        rm -rf s other f.csv counts
        cp -r "runs$1" s
        cp "runs$1.csv" f.csv
        if test $how = disturb; then
            "$build/t/lib/disturb" sh -c "exec $2" >out 2>err || echo failed
            sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' err
        else
            LD_PRELOAD="$build/t/lib/shim.so" SHIM_COUNTS=$PWD/counts \
                SHIM_OF="${2%% *}" sh -c "exec $2" >out 2>err || echo failed
            cut -d ' ' -f 1,3,4 counts
        fi
    done | tr '\n' ' '
}

# Four times as many runs: 4.6 times the work is in proportion, 16 its square.
while IFS='|' read -r name command; do
    test "$name" || continue
    cost "$few" "$command" >less
    cost "$many" "$command" >more
    echo "# $name: $few runs: $(cat less); $many runs: $(cat more)"
    is "$(paste -d ' ' less more | awk '{ for (i = 1; i <= 3; i++)
            if (!($i > 1000 && $(i + 4) < 4.6 * $i)) print $i, "and", $(i + 4) }')" "" \
        "the work of $name grows as the number of runs"
    is "$(paste -d ' ' less more | awk -v n=$((many - few)) '{
            if (!($4 > 1000 && $8 - $4 < n * 8)) print $4, "and", $8 }')" "" \
        "the memory of $name is less than 8 KiB for each run more"
    test $many -lt 10000 || ok "$(awk '{ print ($4 > 100000) }' more)" \
        "$name of 10,000 runs takes less than 100 MB"
done <<END
gtrack ls|gtrack -r s ls --tsv
gtrack tag with a filter|gtrack -q -r s tag 'metrics.x > 0' team=a
gtrack rm with a filter|gtrack -q -r s rm 'metrics.x > 0'
gtrack du --runs|gtrack -r s du --runs --tsv
gtrack best --paired|gtrack -q -r s best x --paired --tsv
gtrack import of a store|gtrack -q -r other import s
gtrack import of a file|gtrack -q -r other import f.csv
gtrack export|gtrack -q -r s export --to csv -o x.csv
${long:+gplot of many runs|gplot metric -q -r s x 'metrics.x > 0' -o x.svg}
END
done_testing
