#!/bin/sh
# bench/recipe trains what its results lack, and keeps what the runs showed.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all "no python3"
show_commands

mkdir c4
sed 's/[\\"]/\\&/g; s/	/ /g; s/.*/{"text":"&"}/' "$top"/man/gtrain*.[15] |
    gzip >c4/text.json.gz
recipe() {
    python3 -B "$top/bench/recipe" --text c4 --work work --results r.tsv \
        --tokens 8192 "$@" >out 2>err
}

recipe --plan && test ! -e r.tsv && test ! -e work &&
    test "$(grep -c '^small/[AB].*8192  *-' out)" = 6
ok $? "--plan prints the first trials of both recipes, and trains nothing"

recipe --limit 1 --only small/A/ && test "$(wc -l <r.tsv)" = 2 &&
    grep -q "^small/A/0.004,0.1/1	[0-9.]*	8192	" r.tsv &&
    grep -q " optim.lr=0.004 .*4:[0-9.]*	1:[0-9.]* .*4:[0-9.]*$" r.tsv
ok $? "a run that was trained is a line of the results"
cp r.tsv before
sed -n 2p r.tsv | sed 's/0.004/0.008/g' >>r.tsv
sed -n 2p before | sed 's/0.004/0.016/g; s/	[0-9.]*/	1.5/' >>r.tsv
recipe --plan && grep -q '^small/A/0.016,0.03/1' out &&
    ! grep -q '^small/A/0.004,0.03/1' out
ok $? "the second setting is tried at the best rate"
cp before r.tsv
recipe --limit 0 && cmp r.tsv before && grep -q '^small/A/0.004,0.1/1 *8192 *[0-9]' out
ok $? "a run that the results have is not trained again"
done_testing
