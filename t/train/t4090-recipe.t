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

# row NAME LOSS: a line of the results, made of the first
row() { sed -n "2s|^[^	]*	[^	]*|$1	$2|p" before; }

recipe --plan && test ! -e r.tsv && test ! -e work &&
    test "$(grep -cE '^small/(A|B|fast)/.*8192  *-' out)" = 3
ok $? "--plan prints the first trial of each recipe, and trains nothing"

recipe --limit 1 --only small/A/ && test "$(wc -l <r.tsv)" = 2 &&
    grep -q "^small/A/0.008,0.03/1	[0-9.]*	8192	" r.tsv &&
    grep -q " optim.lr=0.008 .*4:[0-9.]*	1:[0-9.]* .*4:[0-9.]*$" r.tsv
ok $? "a run that was trained is a line of the results"
cp r.tsv before
recipe --limit 0 && cmp r.tsv before && grep -q '^small/A/0.008,0.03/1 *8192 *[0-9]' out
ok $? "a run that the results have is not trained again"

next='0.008,0.1 0.016,0.03 0.008,0.01 0.004,0.03'
recipe --plan
is "$(sed -n 's|^small/A/\([^/]*\)/1 .* - .*|\1|p' out | tr '\n' ' ')" "$next " \
    "the next trials are the neighbours of the first" "$(cat out)"
for t in $next; do
    row "small/A/$t/1" 5
done | sed 's/	5	/	1	/; t rest; b; :rest; n; b rest' >>r.tsv
recipe --plan
is "$(sed -n 's|^small/A/\([^/]*\)/1 .* - .*|\1|p' out | tr '\n' ' ')" \
    "0.008,0.3 0.016,0.1 " "the search goes on from the best of them" "$(cat out)"

# all trials of A: the best has a worse seed, the second best has not
{
    sed 1q before
    for t in 0.008,0.03=1 0.008,0.1=2 0.016,0.03=3 0.008,0.01=3 0.004,0.03=3 \
        0.016,0.1=3 0.004,0.01=3; do
        row "small/A/${t%=*}/1" "${t#*=}"
    done
    row small/A/0.008,0.03/2 6 && row small/A/0.008,0.03/3 2
} >r.tsv
recipe --plan && grep -q '^small/A/0.008,0.1/2 .* - ' out &&
    ! grep -q '^middle/A' out
ok $? "a pair that is better than the mean of the best gets seeds" "$(cat out)"
{ row small/A/0.008,0.1/2 1.9 && row small/A/0.008,0.1/3 2.1; } >>r.tsv
recipe --plan && grep -q '^middle/A/0.008,0.1/1 .* - ' out &&
    grep -q '^small/A  *8192 .*  2.0000 +- 0.2484 *0.0000' out
ok $? "the best pair and the interval of its mean are printed" "$(cat out)"
done_testing
