#!/bin/sh
# Everything at once on one store: writers, edits, deletions, gc, imports,
# exports, pushes and a page that reads along.  No point is lost, doubled or
# changed, and nothing is left behind.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/serve.sh"
perl -MHTTP::Tiny -e 1 2>/dev/null || skip_all "no perl with HTTP::Tiny"

# `make check-long` lets 32 of them, or GT_WRITERS, write GT_COUNT attempts each,
# at most GT_AT_ONCE at once
writers=${GT_LONG:+${GT_WRITERS:-32}}
writers=${writers:-4}
at_once=${GT_AT_ONCE:-$writers}
parts=$(or_long 3)
points=$((50 * parts))
"$build/t/lib/mkruns" other rates
echo step=1 loss=1 | gtrack -q -r s log first
start -r s --edit
mkdir srv
"$top/t/lib/server.pl" mlflow "$dir/srv" &
target=$!
trap 'kill "$target" $server 2>/dev/null; rm -rf "$dir"' EXIT
await_file srv/url
unset MLFLOW_TRACKING_USERNAME MLFLOW_TRACKING_TOKEN http_proxy

# A run in attempts of 50 points.
write_run() {
    resume=
    for part in $(seq 0 $((parts - 1))); do
        seq $((50 * part + 1)) $((50 * part + 50)) |
            sed 's/.*/step=& loss=&.25/' |
            gtrack -q -r s log $resume "w$1" || return
        resume=--resume
    done
}
# until_done NAME COMMAND: run it again and again while runs are written; what
# meets a run that is being written, moved or deleted may say so
until_done() {
    while :; do
        sh -c "$2" >"log.$1" 2>&1
        status=$?
        test $status -le 7 || echo "$2: status $status: $(cat "log.$1")"
        echo >>"times.$1"
        test ! -e ended || return
    done >"bad.$1"
}
others=
n=0
while IFS= read -r line; do
    n=$((n + 1))
    until_done $n "$line" &
    others="$others $!"
done <<END
gtrack -q -r s tag w1 team=a; gtrack -q -r s note w1 hello; gtrack -q -r s tag w2 team=b
gtrack -q -r s mv -e moved first; gtrack -q -r s mv -e Default first
gtrack -q -r s import other; gtrack -q -r s rm run1; gtrack -q -r s restore run1; gtrack -q -r s rm run1 run2
gtrack -q -r s gc -y
gtrack -r s ls --csv -c name,status,damage,loss; gtrack -r s fsck
gtrack -q -r s export --to csv -o x.csv; gplot -q -r s loss first w1 -o f.json
gtrack -q -r s push --to mlflow $(cat srv/url) --retry-wait 0.01 w1
END
# The page reads, and edits, though a run may just be moved.
id=$(basename "$(gtrack -r s where first)")
page="perl '$top/t/lib/ask.pl' $port"
until_done page "$page GET '$base/api/runs?store=0' 'Cookie: $cookie' | head -n 1 | grep -q ' 200 ' || exit 9" &
others="$others $!"
until_done edits "BODY='{\"id\":\"$id\",\"note\":\"by the page\"}' $page POST '$base/api/edit' 'Cookie: $cookie' 'Host: localhost:$port' 'Origin: http://localhost:$port' >edit.out
grep -q -e '^HTTP.* 200 ' -e '^HTTP.* 404 ' -e 'No such file' edit.out || { cat edit.out; exit 9; }" &
others="$others $!"
bad= pids=
for i in $(seq "$writers"); do
    write_run "$i" 2>"err.w$i" &
    pids="$pids $!"
    test $((i % at_once)) -eq 0 || test "$i" -eq "$writers" || continue
    for pid in $pids; do
        wait "$pid" || bad="$bad a writer ended with status $?: $(cat err.w*)"
    done
    pids=
done
: >ended
for pid in $others; do
    wait "$pid"
done
is "$bad$(cat bad.*)" "" "no command fails that should not, while others change the store"
echo "# $writers runs of $points points; of the others, $(cat times.* | wc -l) commands"
seq $points | awk '{ print $1 "\t" $1 ".25" }' >want
bad=
for i in $(seq "$writers"); do
    gtrack -r s metrics "w$i" loss --tsv --no-header 2>&1 | cmp -s - want ||
        bad="$bad w$i"
    lines=$(wc -l <"$(gtrack -r s where "w$i")/metrics/loss")
    test "$lines" = $points || bad="$bad w$i has $lines lines"
done
is "$bad" "" "each point is there once"
is "$(gtrack -r s ls --tsv --no-header -c damage | sort -u)" "" "no run is damaged"
gtrack -r s fsck -q --no-header >out 2>&1
is "$(cat out)" "" "fsck finds nothing"
ask "/api/runs?store=0"
is "$(status) $(grep -c "\"w$writers\"" out)" "200 1" "the page has the runs in the end"
stop
done_testing
