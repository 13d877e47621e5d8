#!/bin/sh
# gplot timeline draws what each thread did, from a trace of gtrain bench.
. "$(dirname "$0")/../lib/tap.sh"

slice() { # NAME THREAD START LENGTH [FAULTS]: an event, in microseconds
    printf ',\n{"name":"%s","ph":"X","pid":1,"tid":%d,"ts":%s,"dur":%s' \
        "$1" "$2" "$3" "$4"
    test -z "${5-}" || printf ',"args":{"page_faults":%d}' "$5"
    printf '}'
}
events() { # the events of stdin as a trace
    printf '{"displayTimeUnit":"ms","traceEvents":[\n'
    printf '{"name":"process_name","ph":"M","pid":1,"args":{"name":"x"}}'
    cat
    printf '\n]}\n'
}
draw() { # FILE...: the numbers of a figure that is drawn to a file
    gplot timeline "$@" --data -o t.svg >out 2>err
}
rows() { # AREA: its cells as "from to low high" in ms, low and high by row
    awk -F "$tab" -v area="$1" 'index($3, area ",") == 1 && $5 != "nan" {
        printf "%g %.2f %.2f\n", 1e3 * $4, $6, $7 }' out
}

{
    printf ',\n{"name":"thread_name","ph":"M","tid":7,"args":{"name":"main"}}'
    printf ',\n{"name":"thread_name","ph":"M","tid":8,"args":{"name":"help"}}'
    slice linear 7 1000 400 4
    slice head 7 1400 600 0
    slice linear 8 1000 100 2
    slice 'no core' 8 1100 200
    slice waiting 8 1300 100
    slice head 8 1400 600 0
} | events >two.json
draw two.json
is $? 0 "gplot timeline prints its numbers"
is "$(rows linear)" "0 0.76 1.44
0.4 0.76 1.44
0 -0.24 0.44
0.1 -0.24 0.44" "an operation fills its time in the rows of its threads"
is "$(rows 'no core') $(rows waiting)" "0.1 -0.24 0.44
0.3 -0.24 0.44 0.3 -0.24 0.44
0.4 -0.24 0.44" "the time without a core precedes that of waiting"
is "$(rows 'page faults')" "0 0.56 0.64
0.4 0.56 0.64
0 -0.44 -0.28
0.1 -0.44 -0.28" "the rate of page faults is drawn below the operations"
like out "page faults, up to 20 per ms" "the legend has the highest rate"
gplot timeline two.json -o two.txt >out 2>err
is "$(tr -s ' ' <out | tr ' ' , | tail -n 4)" \
    "head,1.200,60.0%,0
linear,0.500,25.0%,6
no,core,0.200,10.0%,0
waiting,0.100,5.0%,0" "a table has the time and the page faults of each area"
like two.txt "main ┤b*a*$" "a terminal without colours gets letters"
like two.txt "help ┤bb*cc*dd*aa*$" "the letters follow each other in time"
draw two.json --xrange 0:0.35ms
is "$(awk -F "$tab" 'NR > 1 { print $3 }' out | uniq)" "linear, 64.3%
no core, 28.6%
waiting, 7.1%
page faults, up to 20 per ms" "--xrange also limits the percentages"
gplot timeline two.json --xrange 5: >out 2>err
is $? 3 "--xrange beyond the end ends with status 3"
like err "xrange leaves nothing to draw" "the message names the option"

{
    for i in 1 2 3 4 5 6 7 8; do
        slice "op$i" 0 $((100 * i)) $((10 * i)) "$i"
    done
    slice 'no core' 0 900 10
    slice waiting 0 910 10
} | events >many.json
draw many.json
is "$(awk -F "$tab" 'NR > 1 { sub(",.*", "", $3); print $3 }' out | uniq |
    tr '\n' ' ')" \
    "op8 op7 op6 op5 op4 3 other operations no core waiting page faults " \
    "five operations have a colour of their own"
gplot timeline many.json --mono --script many.gp >out 2>err
is "$(grep -o "filledcurves lc rgb '#......'" many.gp | sort -u | wc -l)" 9 \
    "without colours, each area has a shade of its own"

awk 'BEGIN { for (i = 0; i < 50000; i++)
    printf ",\n{\"name\":\"a\",\"ph\":\"X\",\"tid\":1,\"ts\":%d,\"dur\":3}" \
           ",\n{\"name\":\"b\",\"ph\":\"X\",\"tid\":1,\"ts\":%d,\"dur\":1}",
           4 * i, 4 * i + 3 }' | events >long.json
draw long.json
is "$(awk -F "$tab" '$3 ~ /^a,/ && $5 != "nan" { n++; sum += $7 - $6 }
    END { print (n > 1000 && n < 2500), (sum / n > 0.508 && sum / n < 0.512) }' \
    out)" "1 1" \
    "slices narrower than a pixel are merged, and keep their shares"
is "$(awk -F "$tab" '$3 ~ /^b,/ && $5 != "nan" {
    if ($7 > 0.4401) bad++ } END { print bad + 0 }' out)" 0 \
    "the shares of a cell fill no more than its row"

bad() { # TEXT PATTERN NAME: a trace that must be rejected
    printf '%s' "$1" >bad.json
    gplot timeline bad.json --data >out 2>err
    is "$? $(wc -l <err)" "1 1" "$3 is an error of one line"
    like err "bad.json.*$2" "the message about $3 says what is wrong"
}
bad '{"traceEvents":[{"name":"a","ph":"X","tid":1,"ts":1,"dur":1}' \
    "ends inside" "a trace that is cut"
bad '[]' "not a JSON object" "an array instead of an object"
bad '{"traceEvents":[]}' "no slices of time" "a trace without slices"
bad '{"traceEvents":[{"name":"a","ph":"X","tid":1,"ts":1}]}' \
    "byte 52: a slice needs" "a slice without a duration"
bad '{"traceEvents":[{"name":"a","ph":"X","tid":1,"ts":-1,"dur":1}]}' \
    "a slice needs" "a slice before the beginning"
bad '{"traceEvents":[{"name":"a","ph":"X","tid":1,"ts":1e300,"dur":1}]}' \
    "a slice needs" "a slice after the end of time"
bad '{"traceEvents":[{"name":"a","ph":"X","tid":1,"ts":NaN,"dur":1}]}' \
    "an event is not as" "a time that is no number"
bad '{"traceEvents":[{"name":"a","ph":"X","tid":"1","ts":1,"dur":1}]}' \
    "an event is not as" "a thread that is no number"
bad '{"traceEvents":[{"name":"a","ph":"X","tid":1,"ts":1,"dur":1}]} x' \
    "end of the file" "text after a trace"
awk 'BEGIN { for (i = 0; i < 1025; i++)
    printf ",\n{\"name\":\"a\",\"ph\":\"X\",\"tid\":%d,\"ts\":0,\"dur\":1}",
           i }' | events >bad.json
gplot timeline bad.json >out 2>err
is $? 1 "a trace of 1025 threads is an error"
like err "bad.json: byte [0-9]*: more than 1024 threads" \
    "the message says how many threads there may be"
gplot timeline none.json >out 2>err
is $? 3 "a missing trace ends with status 3"
gplot timeline two.json long.json >out 2>err
is $? 2 "gplot timeline of two traces ends with status 2"

if command -v gnuplot >/dev/null; then
    gplot timeline two.json -o two.svg >out 2>err
    is $? 0 "gplot timeline draws a file"
    like two.svg ">linear, 25.0%<" "the legend has the share of an operation"
else
    skip "gplot timeline draws a file" "gnuplot is not installed"
fi
done_testing
