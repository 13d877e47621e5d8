#!/bin/sh
# gplot hist draws the histograms that a run has under a name.
. "$(dirname "$0")/../lib/tap.sh"

printf 'step=1 loss=1\n' | gtrack log a 2>err
run=$(gtrack where a)
mkdir -p "$run/artifacts/histograms/w"
file=$run/artifacts/histograms/w/0.jsonl
cat >"$file" <<'END'
{"step": 0, "time": 1, "values": [4, 0, 0, 0], "bins": [0, 1, 2, 3, 4]}
{"step": 10, "time": 2, "values": [9, 9], "bins": [0, 2, 4]}
{"step": 20, "time": 3, "values": [1, 3], "bins": [2, 3, 4]}
{"step": 10, "time": 4, "values": [1, 1], "bins": [0, 2, 4]}
END
printf '{"step": 30, "val' >>"$file"

gplot hist w/0 a --data >out 2>err
is $? 0 "gplot hist prints its numbers"
is "$(awk -F"$tab" '$4 == 0 && $6 > 0 { n++; all += $6 }
    END { print n, all }' out)" "4 100" \
    "a histogram of one bin of four fills a quarter of the rows"
is "$(awk -F"$tab" '$4 == 10 && $6 == 6.25 { n++ } END { print n }' out)" 16 \
    "the later histogram of a step counts"
is "$(awk -F"$tab" '$4 == 20 { v[n++] = $6 } END {
    print v[7], v[8], v[12] }' out)" "0 6.25 18.75" \
    "histograms with other bins are drawn on the same axis"
unlike out "${tab}30${tab}" "an incomplete last line is not read"

gplot hist w/0 a --term own >out 2>err
like out "^ *10  *2  *0  *2.0*  *4" "gplot hist prints medians by step"
for step in $(seq 99); do
    echo "{\"step\": $step, \"values\": [3, 1], \"bins\": [0, 1, 2]}"
done >"$run/artifacts/histograms/many.jsonl"
gplot hist many a --term own >out 2>err
like out "^0.[0-9]* *@@@@@@@@@@@@" "a terminal without colours gets shades"
like out "48 of 99 histograms are drawn" "of many histograms, 48 are drawn"
if command -v gnuplot >/dev/null; then
    gplot hist w/0 a -o h.svg >out 2>err
    is $? 0 "gplot hist draws a file"
    like h.svg ">w/0 of a<" "the figure of histograms names them and the run"
    echo '{"step": 1, "values": [1, 2], "bins": [-6.43, 0, 2.71]}' \
        >"$run/artifacts/histograms/odd.jsonl"
    gplot hist odd a -o odd.svg --script odd.gp >out 2>err
    is "$(sed -n '/^set ytics/p' odd.gp | tr "'" '\n' | grep '^-*[0-9]*$' |
        paste -s -d ' ')" "-6 -4 -2 0 2" \
        "the ticks of values are round"
    gplot hist many a -o many.svg --script many.gp >out 2>err
    is "$(sed -n '/^set xtics/p' many.gp | tr "'" '\n' | grep '^[0-9]*$' |
        paste -s -d ' ')" "0 20 40 60 80 100" \
        "the ticks of evenly spaced steps are round"
    is "$(sed -n "s/.* fc rgb '\(.[0-9A-F]*\)' .* border lc rgb '\(.[0-9A-F]*\)'.*/\1 \2/p" \
        odd.gp | awk '$1 == $2 { n++ } END { print n, NR }')" "32 32" \
        "there are no lines between the many fields of a map"
else
    skip "gplot hist draws a file" "gnuplot is not installed"
fi

gplot hist none a >out 2>err
is $? 3 "a name without histograms ends with status 3"
like err "run a has no histograms named none" \
    "the message names the run and the missing histogram"
printf '\n{"step": 1, "values": [1], "bins": [1, 1]}\n' >>"$file"
gplot hist w/0 a >out 2>err
is $? 1 "a bad histogram is an error"
like err "0.jsonl:5: this is no histogram" \
    "the message about a bad histogram names its line"
printf 'step=1 loss=1\n' | gtrack log b 2>err
gplot hist w/0 a b >out 2>err
is $? 2 "gplot hist of two runs ends with status 2"
like err "one run, and 2 are selected" "the message tells how many are selected"
done_testing
