#!/bin/sh
# doc/data.md: its tables of trainings are those of the runs in corpus.tsv.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

mkdir doc
cp "$top/doc/data.md" doc
check "the results become the runs of a store" \
    python3 -B "$top/bench/corpus" --store mlruns
is "$(gtrack ls --tsv --no-header | wc -l | tr -d ' ')" 6 "each result is a run"
gtrack claims doc/data.md --tsv --no-header >out 2>err
is "$(grep -c "${tab}table${tab}" out)" 2 "each table is checked"
is "$(cut -f6 out | grep -v '^equal')" "" "the tables are what the runs say" \
    "$(cat err)"
sed -i 's/4\.4458/4.3458/' doc/data.md
gtrack claims doc/data.md >out 2>err
is $? 1 "a loss that is not that of a run is found"
done_testing
