#!/bin/sh
# doc/recipe.md: its tables and its figure are those of the runs in recipe.tsv.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
command -v gnuplot >/dev/null || skip_all "gnuplot is not installed"

mkdir doc
cp "$top/doc/recipe.md" "$top/doc/recipe.png" doc
check "the results become the runs of a store" \
    python3 "$top/bench/recipe" --store mlruns
is "$(gtrack ls --tsv --no-header | wc -l | tr -d ' ')" \
    "$(sed 1d "$top/bench/recipe.tsv" | wc -l | tr -d ' ')" \
    "each result is a run"
gtrack claims doc/recipe.md --tsv --no-header >out 2>err
is "$(grep -c "${tab}table${tab}" out)" "$(grep -c 'gtrack: table:' doc/recipe.md)" \
    "each table is checked"
# Other versions of gnuplot draw other bytes from the same data.
is "$(cut -f6 out | grep -v '^equal' | head -3)" "" \
    "the tables and the figure are what the runs say" "$(cat err)"
if thorough; then
    check "the runs are packed into a bundle" \
        gtrack bundle -q -o recipe.tar --add doc 'train.seed > 0'
    gtrack verify recipe.tar >out 2>err
    ok $? "the bundle holds, and the document with it"
fi
sed -i 's/4\.3087/4.3086/' doc/recipe.md
gtrack claims doc/recipe.md >out 2>err
is $? 1 "a number that is not that of a run is found"
done_testing
