#!/bin/sh
# The speed of a run is its tokens divided by its time.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

# took FILE SECONDS: let an attempt or a run take so long
took() {
    awk -v secs="$2" '/^start_time:/ { start = $2 }
        { line[NR] = $0 }
        END { for (i = 1; i <= NR; i++)
            if (line[i] ~ /^end_time:/)
                printf "end_time: %.0f\n", start + 1000 * secs
            else
                print line[i] }' "$1" >new && cp new "$1"
}

# planted NAME SECONDS...: a run whose steps of 1,000 tokens take these times,
# with an MFU that is the tokens per second divided by 100,000
planted() {
    name=$1
    shift
    printf '%s\n' "$@" | awk '{ printf "{\"step\": %d, \"train/tokens\": %d, " \
        "\"perf/tokens_per_s\": %.12g, \"perf/mfu\": %.12g}\n",
        NR, NR * 1000, 1000 / $1, 1000 / $1 / 1e5 }' |
        gtrack log "$name" >out 2>&1
    run=$(gtrack where "$name")
    took "$run/.gtrack/attempt.1.yaml" \
        "$(printf '%s\n' "$@" | awk '{ sum += $1 } END { print sum }')"
}
speed() {
    gtrack ls "$1" -c "$2" --tsv --no-header
}

# 4,000 tokens in 8 s, and in 10 s: the mean of the rates, the highest and the
# last one all say that the second run is the faster one
planted steady 2 2 2 2
planted uneven 0.5 4.5 4.5 0.5
key=perf/tokens_per_s
is "$(speed steady $key)" 500.0 "an even run has the speed of its steps"
is "$(speed uneven $key)" 400.0 \
    "the speed of an uneven run is its tokens divided by its time"
is "$(speed uneven "mean($key)")" 400.0 "the mean is the speed of the whole run"
is "$(speed uneven "last($key),max($key),min($key)" | cut -c1-17)" \
    "2000.0${tab}2000.0${tab}222" "last, max and min are those of steps"
is "$(speed uneven "median($key)" | cut -c1-9)" 1111.1111 \
    "the median is on demand"
is "$(speed uneven 'perf/mfu')" 0.004 "the MFU is that of the whole run"
gtrack compare steady uneven --down -c $key --json >out 2>&1
like out '"value": *500\|"steady": *500\|500\.0' "compare has the speed of the run"
gtrack compare steady uneven --by best --down --tsv >out 2>err
awk -F'\t' '/tokens_per_s/ { print $2 $3 }' out >row
is "$(cat row)" 500.0400.0 "compare --by best has the speed of the whole run, too"
is "$(gtrack best $key --tsv --no-header | cut -f1)" steady \
    "the fastest run is the one that takes the least time for its tokens"
is "$(gtrack ls -w "metrics.$key > 450" -c name --no-header --tsv)" steady \
    "a filter compares the speed of the whole run"
is "$(gtrack ls --sort -$key -c name --no-header --tsv)" "steady
uneven" "runs are sorted by the speed of the whole run"
gtrack report -o out.md steady uneven >out 2>&1
ok $? "a report is written"
like out.md '\*\*500' "the report marks the run that is fastest as a whole"

# a timeline: points every 2 s, and an hour between two attempts
start=$(sed -n 's/^start_time: //p' "$(gtrack where steady)/meta.yaml")
at() {
    awk -v ms="$start" -v plus="$1" 'BEGIN { printf "%.0f", ms + 1000 * plus }'
}
cd "$(gtrack where steady)" || exit 1
awk -v ms="$start" '{ wait = $3 > 2 ? 3600 : 0
    printf "%.0f %s %s\n", ms + 1000 * (2 * $3 + wait), $2, $3 }' \
    metrics/train/tokens >new && mv new metrics/train/tokens
took .gtrack/attempt.1.yaml 4
sed "s/^attempt: 1/attempt: 2/; s/^start_time:.*/start_time: $(at 3604)/
    s/^end_time:.*/end_time: $(at 3608)/" .gtrack/attempt.1.yaml \
    >.gtrack/attempt.2.yaml
rm -f new
cd "$dir" || exit 1
is "$(gtrack metrics steady train/tokens elapsed took --at 1,3,9 --tsv \
    --no-header | tr '\t' ' ')" "1 1000.0 2.0 2.0
3 3000.0 6.0 4.0
9 4000.0 8.0 2.0" "a timeline has the time of all attempts until a step"
is "$(gtrack metrics steady train/tokens took --tsv --no-header | cut -f 3 |
    tr '\n' ' ')" "2.0 2.0 2.0 2.0 " "took is the time from row to row"
# points at the ends of steps of 0.5, 4.5, 4.5 and 0.5 s
start=$(sed -n 's/^start_time: //p' "$(gtrack where uneven)/meta.yaml")
for metric in train/tokens $key; do
    file=$(gtrack where uneven)/metrics/$metric
    awk -v ms="$start" 'BEGIN { split("500 5000 9500 10000", after, " ") }
        { printf "%.0f %s %s\n", ms + after[$3], $2, $3 }' "$file" >new &&
        mv new "$file"
done
is "$(gtrack metrics uneven $key --at 1,3,4 --tsv --no-header |
    awk '{ printf "%d ", $2 }')" "2000 222 2000 " \
    "the speed of a chosen step is that since the row before"
is "$(gtrack metrics uneven --from 2 --to 3 --tsv --no-header |
    awk '$1 == "'$key'" { printf "%d %d %d %d", $2, $3, $4, $10 }')" \
    "2 2 3 222" "a summary of chosen steps has their speed"
gplot throughput uneven --skip 2 -o x.txt >out 2>err
like out "over time from step 3 to 4  .*  400  " \
    "gplot prints the speed of the steps that it draws"
gplot throughput uneven --xrange 2:3 -o x.txt >out 2>err
like out "over time from step 2 to 3  .*  222  " \
    "--xrange chooses steps for the speed, too"
gplot throughput uneven -o x.txt >out 2>err
like out "perf/tokens_per_s, over time  .*  400  " \
    "gplot prints the speed of a whole run below its figure"
is "$(speed steady $key)" 500.0 "time between attempts is no time of the run"
gtrack metrics steady train/tokens --at 1,x >out 2>err
is $? 2 "--at refuses what is no step"
is "$(gtrack ls '[su]*y' 'un*' -c name --tsv --no-header | sort)" "steady
uneven" "patterns of names choose runs"
gtrack ls 'lr-*' >out 2>err
is $? 3 "a pattern that matches no run is refused"

# without tokens, equally large steps are assumed
printf '{"step": %d, "perf/tokens_per_s": %d}\n' 1 2000 2 500 |
    gtrack log foreign >out 2>&1
is "$(speed foreign $key)" 800.0 "rates of equal steps have their harmonic mean"
# a run that another one has begun
gtrack tag uneven resumed.step=2 >out 2>&1
is "$(speed uneven $key)" 200.0 "tokens of the run that it continues do not count"
done_testing
