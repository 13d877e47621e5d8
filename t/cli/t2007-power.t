#!/bin/sh
# What a command announced is on the disk when the power fails, and a clock that
# jumps changes no result.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"
perl -e 1 2>/dev/null || skip_all "no perl"

make_shards_case
campaign_over power "$(or_long 4)"
make_edits_case
campaign_over power "$(or_long 4)"
thin=4
campaign_over later "$(or_long 1)"
campaign_over earlier "$(or_long 1)"
thin=1
make_results_case
# what the command of an alert writes is its own affair
all=$commands
commands=$(echo "$commands" | sed "s/'echo told >>told'/true/")
campaign_over power "$(or_long 2)"
commands=$all
# those that GT_CLOCK_MS tells the time read no clock; a frozen page says when it
# was frozen, so only its names and losses are compared
cat >page.sh <<'END'
if test "$1" = freeze; then
    gtrack serve -q --freeze frozen run1 run2
    status=$?
    grep -o '"loss":[^,}]*\|"name":"[^"]*"' frozen >page.txt
    rm -f frozen
    test -s page.txt || exit
    exit $status
fi
gtrack serve >url 2>log &
perl -e 'for (1 .. 3000) { exit 0 if -s "url"; select undef, undef, undef, .02 }'
port=$(sed 's|.*127.0.0.1:\([0-9]*\)/.*|\1|' url)
base=$(sed 's|.*\(/[0-9a-f]*\)/?token=.*|\1|' url)
ask() { perl "$top/t/lib/ask.pl" "$port" GET "$@"; }
# a session ends after a week: whoever has the token begins another
for _ in 1 2 1 2; do
    cookie=$(ask "$base/?token=$(sed 's/.*token=//' url)" |
        sed -n 's/^Set-Cookie: \([^;]*\).*/\1/p')
    ask "$base/api/runs?store=0" "Cookie: $cookie" >answer
    ! grep -q '^HTTP.* 200' answer || cat answer
done | grep -o '"name":"run[^"]*"' | sort | uniq >page.txt
kill -TERM $!
wait $!
status=$?
rm -f url log answer
test -s page.txt || exit
exit $status
END
export top
commands=$(echo "$commands" | grep -v GT_CLOCK_MS)
prepare() { cp -R "$here/seed/mlruns" "$here/all.tar" "$here/paper.md" \
    "$here/cell.sh" "$here/writer.py" "$here/page.sh" .; }
gtrack serve --help >out 2>&1 && commands="$commands
gtrack serve|sh ./page.sh
gtrack serve --freeze|sh ./page.sh freeze"
campaign_over later "$(or_long 1)"
campaign_over earlier "$(or_long 1)"
done_testing
