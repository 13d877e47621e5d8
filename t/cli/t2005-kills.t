#!/bin/sh
# Commands that are killed at any system call, and typed again, do what they
# would have done, and lose nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
"$build/t/lib/kill-at" 1 true
test $? = 137 || skip_all "no right to trace a process"
here=$PWD long=${GT_LONG:+500}
GTRACK_CACHE=
export GTRACK_CACHE

# Token shards, with a held-out part: the bytes of those of no kill.
awk 'BEGIN { for (i = 0; i < 3000; i++)
                 printf "{\"text\":\"number %d, %d\"}\n", i, i * i }' >d.jsonl
gdata bpe -q -n 300 -o tok d.jsonl >out 2>err
prepare() { :; }
verify() {
    sha256sum d_* 2>&1 | sort >"$here/got"
    test -e "$here/shards" || cp "$here/got" "$here/shards"
    cmp -s "$here/got" "$here/shards" || diff "$here/got" "$here/shards"
}
shape="--val 10% --shard-tokens 2000 --mark-every 0s"
kill_often "gdata encode" "${long:-5}" \
    "gdata encode -q -T '$here/tok' $shape -o d '$here/d.jsonl' >/dev/null"
is "$(wc -l <shards | tr -d ' ')" "$(gdata encode -T tok $shape -o e d.jsonl \
    2>err | grep -c bin)" "an encode that was killed has written every shard"

# The same from a server.
if perl -MIO::Socket::INET -e 1 2>/dev/null; then
    mkfifo port hold
    mkdir www
    gzip -c d.jsonl >www/d.json.gz
    perl "$top/t/lib/httpd.pl" www server <hold >port &
    pid=$!
    exec 9>hold
    trap 'exec 9>&-; wait $pid; rm -rf "$dir"' EXIT
    read -r port <port
    unset http_proxy HTTP_PROXY all_proxy ALL_PROXY HF_TOKEN HF_ENDPOINT
    rm shards
    kill_often "gdata fetch --stream" "${long:-3}" \
        "gdata fetch -q http://127.0.0.1:$port/plain/d.json.gz --stream \
            --wait 0.01 -T '$here/tok' $shape -o d >/dev/null"
else
    skip "gdata fetch --stream, killed and run again" "no perl"
fi

# Changes of a store: every point stays, and fsck finds nothing.
mkdir seed
"$build/t/lib/mkruns" seed/mlruns rates
points() { find mlruns -path '*metrics*' -type f -exec cat {} + | sort; }
(cd seed && points) >points
prepare() { cp -R "$here/seed/mlruns" .; }
verify() {
    gtrack fsck >fsck 2>&1 || cat fsck
    points | cmp - "$here/points" 2>&1
    gtrack ls --csv -a -c name,experiment,status,tags.color |
        sort >"$here/got" 2>&1
    test -e "$here/state" || cp "$here/got" "$here/state"
    cmp -s "$here/got" "$here/state" || diff "$here/got" "$here/state"
}
edit() {        # edit WHAT COMMAND
    rm -f state
    kill_often "$1" "${long:-5}" "$2"
}
edit "gtrack tag" "gtrack tag -q run1 color=blue"
edit "gtrack note" "gtrack note -q run1 'a good one'"
edit "gtrack mv" "gtrack mv -q run1 best || gtrack where best >/dev/null"
edit "gtrack mv -e" "gtrack mv -q -e chosen run1"
edit "gtrack rm" "gtrack rm -q run1 || test -n \"\$(gtrack ls -dq)\""
edit "gtrack rm and restore" \
    "gtrack rm -q run1; gtrack restore -q run1 || gtrack where run1 >/dev/null"
done_testing
