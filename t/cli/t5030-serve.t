#!/bin/sh
# gtrack serve answers its own page and nobody else, and tells it what changes.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/serve.sh"

make_store rates
start

like url '^http://127.0.0.1:[0-9]*/[0-9a-f]\{32\}/?token=[0-9a-f]\{32\}$' \
    "serve prints the URL of the page with a path and a token"

# Looked at below.
DRIP=1 perl "$top/t/lib/ask.pl" "$port" >drip &
dripping=$!

# Who may ask.
perl "$top/t/lib/ask.pl" "$port" GET "$base/" >out
is "$(status)" 403 "a request without a cookie is refused"
perl "$top/t/lib/ask.pl" "$port" GET / "Cookie: $cookie" >out
is "$(status)" 403 "a request that does not know the path is refused"
like out "the token that gtrack serve printed" \
    "whoever has no cookie learns where the token is"
perl "$top/t/lib/ask.pl" "$port" GET "$base/?token=$(printf %032d 0)" >out
is "$(status)" 403 "a wrong token is refused"
perl "$top/t/lib/ask.pl" "$port" GET "$base/?token=$token" >out
is "$(status)" 303 "the right token leads to the page"
like out "^Set-Cookie: gtrack-$port=[^ ]*; HttpOnly; SameSite=Lax; Path=$base/$" \
    "the cookie is for the path of this server only, and not for scripts"
! grep "Set-Cookie.*$token" out
ok $? "the cookie is not the token"
like out "^Location: $base/$" "the URL of the page has no token"
ask / "Cookie: gtrack-1=$token; other=1"
is "$(status)" 200 "of several cookies the right one is found"
ask /
is "$(status)" 200 "the page is sent to whoever has the cookie"
like out "^Content-Security-Policy: default-src 'none'; script-src 'self'" \
    "only the scripts of the page may run"
like out "^Content-Type: text/html" "the page is HTML"
like out '^<title>' "the page has its title"
ask / "Host: rebound.example:$port"
is "$(status)" 403 "a host name that leads here by DNS is refused"
like out "rebound.example" "the refused host name is named"
ask / "Host:"
is "$(status)" 403 "a request without a host is refused"
ask /api/runs "Origin: http://other.example"
is "$(status)" 403 "a request of another page is refused"
ask /api/runs "Origin: http://localhost:1"
is "$(status)" 403 "a request of a page on another port is refused"
ask /api/runs "Host: localhost:$port" "Origin: http://localhost:$port"
is "$(status)" 200 "a request of the own page is answered"
perl "$top/t/lib/ask.pl" "$port" POST "$base/api/runs" "Cookie: $cookie" >out
is "$(status)" 403 "a POST that does not say its origin is refused"
perl "$top/t/lib/ask.pl" "$port" DELETE "$base/api/runs" "Cookie: $cookie" >out
is "$(status)" 405 "other methods are refused"
ask / "Host: localhost" "Host: localhost"
ok "$(($(status) / 100 != 4))" "a request with two hosts is refused"
ask / "Transfer-Encoding: chunked"
is "$(status)" 400 "a request with two kinds of length is refused"
ask / "Content-Length: 0"
is "$(status)" 400 "a request with two lengths is refused"

# Paths.
for path in /page/../../../../etc/passwd /page/%2e%2e/local.mk /page/local.mk \
    /page/ //etc/passwd /api /api/nothing /.. "/page/main.js%00.html"; do
    ask "$path"
    is "$(status)" 404 "there is no page at $path"
done
ask "/api/runs?filter=%zz"
is "$(status)" 400 "a wrong escape is refused"
ask "/api/runs?store=1"
is "$(status)" 400 "a store that is not served is refused"
ask "/api/runs?$(printf 'a=1&%.0s' $(seq 100))"
is "$(status)" 400 "a query of too many parameters is refused"
LONG=200000 ask /
is "$(status)" 431 "huge headers are refused"

# Runs.
ask /api/stores
is "$(json '$j->{stores}[0]{path}')" "$GTRACK_ROOT" "the stores are named"
ask "/api/runs?columns=name,min(val/loss),lr&sort=-name"
is "$(json 'join " ", map { $_->{cells}[0]{text} } @{$j->{rows}}')" \
    "run3 run2 run1" "runs are sorted as asked for"
eval "$(json '$j->{command}') --aligned --no-header" >text
is "$(json 'join " ", map { map { $_->{text} } @{$_->{cells}} }
    @{$j->{rows}}')" "$(tr -d '*' <text | tr -s ' \n' ' ' | sed 's/ $//')" \
    "the command of a table prints the same table"
is "$(json 'join " ", map { $_->{name} } grep { $_->{cells}[1]{best} }
    @{$j->{rows}}')" run2 "the best value is marked"
ask "/api/runs?filter=name%20=%20'run2'"
is "$(json 'join " ", map { $_->{name} } @{$j->{rows}}')" run2 \
    "a filter selects runs"
ask "/api/runs?filter=los%20%3C"
is "$(status)" 400 "a wrong filter is refused"
like out "a value is expected" "the error of a filter says what is wrong"
ask "/api/runs?columns=nothing"
is "$(status)" 400 "a column that no run has is refused"

# Figures.
ask "/api/runs?sort=name"
runs=$(json 'join ",", map { $_->{id} } @{$j->{rows}}')
ask "/api/kinds?runs=$runs"
is "$(json '$j->{groups}[0]{prefix} . ":" .
    join ",", @{$j->{groups}[0]{charts}[0]{metrics}}')" \
    "train:train/loss,val/loss" "the training and validation loss are one chart"
ask "/api/figure?runs=$runs&kind=loss&x=step&from=10&to=200&logy=1&smooth=ema:0.5"
is "$(status)" 200 "a figure is sent"
is "$(json 'join "", map { $_->{y}{log} . $_->{x}{from} . "-" . $_->{x}{to} }
    @{$j->{panels}}')" "110-200" "a figure has the range asked for"
eval "$(json '$j->{command}') -o same.json" >/dev/null 2>&1
is "$(json 'join " ", map { $_->{name} . ":" . $_->{x}[5] . ":" . $_->{y}[5] }
    @{$j->{panels}[0]{curves}}')" \
    "$(perl -MJSON::PP -0777 -ne '$j = decode_json($_); print join " ", map {
        $_->{name} . ":" . $_->{x}[5] . ":" . $_->{y}[5] }
        @{$j->{panels}[0]{curves}}' same.json)" \
    "the command of a figure draws the same figure"
ask "/api/figure?runs=$runs&kind=loss"
is "$(json 'join "", map { /is above; (.*) shows it/ } @{$j->{notes}}')" \
    '"Show outliers"' "a note names the control of the page that shows all values"
ask "/api/summary?runs=$runs"
like out '"best":"The best run is ' "a summary names the best run"
is "$(json 'join " ", @{$j->{origin}[0]}[0, 1]')" "run status" \
    "a summary has the origin of the runs"
like out '"commands":"run' "a summary has the commands of the runs"
ask "/api/figure?runs=$runs&metric=train/lr&group=name&x=time"
is "$(status)" 200 "a figure of groups over time is sent"
ask "/api/figure?runs=$runs&kind=loss&smooth=wild"
is "$(status)" 400 "a wrong option of a figure is refused"
ask "/api/figure?runs=$(printf %032d 0)&kind=loss"
is "$(status)" 404 "a run that does not exist is not found"
ask "/api/figure?runs=$runs&kind=loss&width=1000000"
is "$(status)" 400 "a figure that is too wide is refused"

# What changes.
figure="/api/figure?first=9&metric=train/loss"
ask "$figure"
mark=$(sed -n 's/^ETag: "\(.*\)"/\1/p' out)
whole=$(json 'length encode_json($j)')
ask "$figure&have=$mark"
like out '^{"delta":\[\[0,[0-9]*\]\]}$' \
    "of an answer that the page has, nothing is sent again"
mkfifo lines
(UNTIL='"runs":\["[0-9a-f]' perl "$top/t/lib/ask.pl" "$port" GET \
    "$base/api/events" "Cookie: $cookie" >events) &
stream=$!
gtrack log added <lines 2>/dev/null &
logger=$!
exec 7>lines
while kill -0 $stream 2>/dev/null; do # the first may come before the request
    echo '{"train/loss": 1.5}' >&7
    sleep 0.1
done
like events '^event: runs$' "a page learns that runs have changed"
ask "/api/runs?filter=name%20=%20'added'"
like events "$(json '$j->{rows}[0]{id}')" "the event names the run that changed"
is "$(json '$j->{rows}[0]{status}')" RUNNING "a run that is being written runs"
AGAIN='"name":"added"' ask "$figure"
like out '"name":"added"' "a figure of the runs of a filter has a new run"
ask "$figure&have=$mark"
like out '^{"delta":\[.*added' "of a figure that has changed, what is new is sent"
ok "$(($(json 'length encode_json($j)') > whole / 2))" \
    "of a figure that has changed, the rest is not sent"
ask "$figure&have=1"
like out '^{.*"panels"' "an answer is whole if the one before it is not known"
exec 7>&-
wait $logger

CROWD=200 perl "$top/t/lib/ask.pl" "$port" GET \
    "$base/api/stores" "Cookie: $cookie" >out
is "$(status)" 200 "a page is answered beside 200 slow clients"
if (ulimit -n 5200) 2>/dev/null; then
    (ulimit -n 5200 && CROWD=5000 perl "$top/t/lib/ask.pl" "$port" GET \
        "$base/api/stores" "Cookie: $cookie" >out)
    is "$(status)" 200 "a page is answered beside 5,000 slow clients"
else
    skip "a page is answered beside 5,000 slow clients" "few files may be open"
fi
wait $dripping
is "$(cat drip)" closed "a client whose request arrives byte by byte is dropped"

mv "$GTRACK_ROOT" away
AGAIN='"problem":"' ask /api/stores
like out "there is no store" "the removal of a store is told"
ask /api/runs
is "$(status)" 404 "a store that was removed has no runs"
mv away "$GTRACK_ROOT"
AGAIN='"problem":null' ask /api/stores
ask /api/runs
is "$(status)" 200 "a store that is back is served again"

stop
is $ended 0 "a server that is told to end ends well"
is "$(cat log)" "" "serving leaves no message"

# Other ways to listen.
mkdir empty
start -r "$GTRACK_ROOT" -r none --listen unix:socket
like url '^unix:socket /[0-9a-f]*/?token=' "serve names its Unix socket"
is "$(stat -c %a socket)" 700 "a Unix socket is for its owner"
ask /api/stores
is "$(json 'scalar @{$j->{stores}}')" 2 "several stores are served"
like log "there is no store" "a store that does not exist is warned of"
ask "/api/runs?store=1"
is "$(status)" 404 "a store that does not exist is not found"
gtrack serve --listen unix:socket >out 2>err
is $? 2 "two servers cannot use one Unix socket"
like err "another server" "the other server is blamed"
stop
test ! -e socket
ok $? "the Unix socket is removed at the end"

# A token that outlives the server.
start --listen unix:socket --token-file kept
was=$(cat url) old=$cookie
is "$(stat -c %a kept)" 600 "the file of a token is for its owner"
stop
start --listen unix:socket --token-file kept
is "$(cat url)" "$was" "a token in a file outlives the server"
cookie=$old
ask /api/stores
is "$(status)" 200 "a page that is open goes on after a restart"
stop
chmod 644 kept
gtrack serve --token-file kept >out 2>err
is $? 2 "a file of a token that others can read is refused"

# A browser, which notes what it was given.
mkdir browser
cat >browser/xdg-open <<END
#!/bin/sh
cp -p "\$1" "$dir/led"
tr '\\0' ' ' <"/proc/\$\$/cmdline" >"$dir/shown"
echo "\$1" >"$dir/given.new" && mv "$dir/given.new" "$dir/given"
END
chmod +x browser/xdg-open
was=$PATH PATH=$dir/browser:$PATH TMPDIR=$dir
export TMPDIR
start --open
PATH=$was
unset TMPDIR
await_file given
file=$(cat given)
test "$(stat -c %a led)" = 600 && test -f "$file" && test -s shown &&
    grep -qF "url=http://127.0.0.1:$port$base/?token=$token\"" led && ! grep -qF "$token" shown
ok $? "a browser is led to the page by a file of its user alone" "$(cat shown led)"
stop
test ! -e "$file"
ok $? "the file for the browser is removed at the end"

gtrack serve --listen tcp:1 >out 2>err
is $? 2 "serve refuses another kind of socket"
gtrack serve --port 70000 >out 2>err
is $? 2 "serve refuses a port that does not exist"
gtrack serve runs >out 2>err
is $? 2 "serve takes no argument"
done_testing
