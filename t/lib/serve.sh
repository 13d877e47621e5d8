# serve.sh - a gtrack serve to ask; sourced after tap.sh and fixtures.sh
#
#   start OPTION...     start a server, or skip all if it cannot be; sets server,
#                       port, base (the first folder of all paths), token and
#                       cookie
#   enter               set cookie, with port and token
#   ask PATH [HEADER]...    write its answer to the file out, as it answers the
#                       page; ask.pl has what the environment can change
#   status              print the status of the last answer
#   json EXPRESSION     print what Perl makes of $j, the body of the last answer
#   stop                end the server; sets ended to its status
# shellcheck shell=sh disable=SC2034,SC2154
perl -MJSON::PP -MIO::Socket::INET -e 1 2>/dev/null ||
    skip_all "no perl with JSON::PP"
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT

ask() {
    _path=$1
    shift
    perl "$top/t/lib/ask.pl" "$port" "${METHOD:-GET}" "$base$_path" \
        "Cookie: $cookie" "$@" >out
}

status() {
    sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p' out
}

json() {
    perl -MJSON::PP -0777 -ne '
        BEGIN { $ask = shift @ARGV; binmode STDOUT, ":utf8" }
        s/^.*?\n\n//s; $j = decode_json($_);
        print eval($ask), "\n"; die $@ if $@' "$1" out
}

start() {
    rm -f url
    gtrack serve "$@" >url 2>log &
    server=$!
    await_file url || {
        grep -q "built without libmicrohttpd" log &&
            skip_all "gtrack was built without libmicrohttpd"
        echo "Bail out! gtrack serve does not start"
        exit 1
    }
    port=$(sed 's|.*127.0.0.1:\([0-9]*\)/.*|\1|; s|^unix:\(.*\) /.*|\1|' url)
    base=$(sed 's|.*\(/[0-9a-f]*\)/?token=.*|\1|' url)
    token=$(sed 's/.*token=//' url)
    enter
}

enter() {
    cookie=$(perl "$top/t/lib/ask.pl" "$port" GET "$base/?token=$token" |
        sed -n 's/^Set-Cookie: \([^;]*\).*/\1/p')
}

stop() {
    kill "$server" && wait "$server"
    ended=$?
    server=
}
