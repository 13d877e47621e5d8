#!/bin/sh
# Curves of single steps that scatter are smoothed, and what is drawn is said.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

make_store rates odd ranks hella big:1:30000

# The width follows from the data and is named; the raw values are behind.
gplot loss run1 -o auto.json >out 2>err
note=$(perl -MJSON::PP -0777 -ne 'print grep { /Smoothed/ }
    @{decode_json($_)->{notes}}' auto.json)
is "$note" "Smoothed: Gaussian, σ = 40 points; raw values are pale." \
    "a curve that scatters is smoothed"
curves() {      # FILE: the style, the points and whether it is faint, of each
    perl -MJSON::PP -0777 -ne 'print map { "$_->{style} " . @{$_->{x}} .
        ($_->{faint} ? " faint" : "") . "; " }
        map { @{$_->{curves}} } @{decode_json($_)->{panels}}' "$1"
}
is "$(curves auto.json)" "line 2000 faint; line 2000; line-points 20; " \
    "raw values are faint behind the smoothed ones, and validation is as it is"
gplot loss run1 --smooth none -o none.json >out 2>&1
is "$(curves none.json)" "line 2000; line-points 20; " \
    "--smooth none draws the values alone"
gplot loss run1 --data >auto.tsv
gplot loss run1 --smooth gauss:40 --data >gauss.tsv
check "the method that a note names draws the same" cmp auto.tsv gauss.tsv
gplot loss run1 --smooth none --data | grep -v validation >none.tsv
grep -v 'validation\|smoothed' auto.tsv | cmp -s - none.tsv
ok $? "the raw values keep their name in --data"
is "$(grep -c 'train, smoothed' auto.tsv)" 2000 \
    "smoothed values have a name of their own in --data"
gplot lr run1 --data >out
unlike out "smoothed" "a planned curve is not smoothed"
gplot loss gpt2-124M -o few.txt >out 2>&1
unlike few.txt "Smoothed" "a curve of few points is not smoothed"
for i in $(seq 500); do
    echo "{\"step\": $i, \"train/loss\": $((100000 / i)), \"val/x\": $i}"
done | gtrack log exact >out 2>&1
gplot loss exact -o exact.txt >out 2>&1
unlike exact.txt "Smoothed" "a curve without scatter is not smoothed"

# In the terminal, raw values would hide the smoothed ones.
gplot loss run1 >out 2>err
like out "^Smoothed: Gaussian, σ = 40 points[.]$" \
    "the terminal has the smoothed curve, too"
LC_ALL=C gplot loss run1 >out 2>err
like out "sigma = 40 points" "a caption is ASCII where that is all there is"
# where the curve is lowest, raw values lie below the panel
seq 450 | awk '{ print "step=" $1, "train/loss=" \
    3 + 4 * exp(-$1 / 200) + ($1 * 7919 % 13 - 6) / 20 }' |
    gtrack log scatter >out 2>&1
gplot loss scatter >out 2>err
unlike out "cut off" "raw values that are not drawn are not cut off"

# A lucky batch is not the loss.
gplot loss run1 >out 2>err
like out "run1 *train/loss, single steps .*" "the table says what is one step"
like out "run1 *train/loss, smoothed .*" "the table has the smoothed values"
like out "run1 *val/loss  " "a value of the validation is no single step"

# One spike is neither a hill nor half of the panel.
gplot loss spike -o spike.json >out 2>&1
is "$(perl -MJSON::PP -0777 -ne '$p = decode_json($_)->{panels}[0];
    print $p->{y}{to} < 4 ? "low" : "high",
        map { " $_->{kind} $_->{at_x}" } @{$p->{marks}}' spike.json)" \
    "low above 1234" "a spike is an arrow, and leaves the range to the others"
gplot loss spike >out 2>&1
like out "▲" "the terminal marks the spike"
is "$(gplot loss spike --data | awk -F'\t' \
    '$3 ~ /smoothed/ && $5 > 3.1 { n++ } END { print n + 0 }')" 0 \
    "a spike does not become a hill"
seq 1000 | awk '{ print "step=" $1, "train/loss=" \
    ($1 == 600 ? 0.1 : 3 + 3 * exp(-$1 / 100) + $1 % 7 / 50) }' |
    gtrack log down >out 2>&1
gplot loss down -o down.json >out 2>&1
is "$(perl -MJSON::PP -0777 -ne '$j = decode_json($_); print map {
    "$_->{kind} $_->{at_x}" } @{$j->{panels}[0]{marks}}' down.json)" "below 600" \
    "a value that the room for scatter does not reach is an arrow"
like down.json "1 point below .* is cut off, down to 0.1000 at step 600" \
    "the caption has the value of the arrow"

# Several runs are smoothed alike, and groups, too.
gplot loss run1 run2 run3 -o three.txt >out 2>&1
is "$(grep -c "Smoothed: Gaussian, σ = [0-9]* points" three.txt)" 1 \
    "runs of one figure are smoothed alike"
gplot dashboard two-ranks -o board.txt >out 2>&1
is "$(grep -c "^Smoothed: Gaussian, σ = [0-9to ]* points" board.txt)" 1 \
    "the panels of a figure share a note"
gplot memory two-ranks -o memory.txt >out 2>&1
unlike memory.txt "Smoothed" "memory is not smoothed"
gplot loss run1 run2 run3 --group-by lr -o groups.txt >out 2>&1
like groups.txt "Each run is smoothed first: Gaussian" \
    "the runs of a group are smoothed"

# The page has the same choice, of a long run, too, which it reads as an outline.
long=$(gtrack ls --tsv -c name "experiment = 'big'" | tail -n 1)
gplot loss "$long" -o long.txt >out 2>&1
gtrack serve --freeze page.html "$long" run1 >out 2>err
is $? 0 "a page is frozen with a long run"
grep -o 'Smoothed: Gaussian, σ = [0-9]* points' long.txt >want
grep -o 'Smoothed: Gaussian, σ = [0-9]* points' page.html | sort -u >got
check "the page chooses the same width as gplot" grep -qxF -f want got
done_testing
