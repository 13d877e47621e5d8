#!/bin/sh
# Parquet from a server: only what is wanted, by ranges, from servers that behave
# and servers that do not.
. "$(dirname "$0")/../lib/tap.sh"
show_commands
perl -MIO::Socket::INET -e 1 2>/dev/null || skip_all "no perl"
mkfifo port hold
mkdir www
perl "$top/t/lib/httpd.pl" www log <hold >port &
pid=$!
exec 9>hold
trap 'exec 9>&-; wait $pid; rm -rf "$dir"' EXIT
read -r port <port
at=http://127.0.0.1:$port
no_proxy=127.0.0.1,localhost; export no_proxy
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY HF_TOKEN HF_ENDPOINT

seeds=$top/t/fuzz/corpus/parquet
for f in "$seeds"/*.parquet; do
    name=${f##*/}
    cp "$f" www
    gdata dedup "$f" >want 2>want_err
    status=$?
    gdata dedup "$at/plain/$name" >out 2>err
    is $? $status "$name from a server ends as the file does" "$(cat err)"
    cmp want out; ok $? "the rows of $name from a server are those of the file"
done

# three row groups of 300 kB, most of it in the column that is not wanted
perl "$top/t/lib/parquet.pl" 3 100 3000 >www/big.parquet
size=$(wc -c <www/big.parquet)
gdata bpe -q --vocab 280 -o tok www/big.parquet
encode() { # encode URL PREFIX [OPTION]...
    url=$1 prefix=$2
    shift 2
    gdata encode -q -T tok --wait 0.01 -o "$prefix" "$@" "$url" >out 2>err
}
asked() { # the bytes of all ranges that were asked for
    awk '{ sub("bytes=", "", $3); split($3, r, "-"); n += r[2] - r[1] + 1 }
         END { print n + 0 }' log
}
encode www/big.parquet local && cp local_000000.bin want.bin
: >log
encode "$at/plain/big.parquet" text && cmp want.bin text_000000.bin
ok $? "a column of a server's file becomes the tokens of the file" "$(cat err)"
is "$(grep -c . log)" 5 "there are a request for the size, one for the footer, and one for each row group"
test "$(asked)" -lt 80000 && test "$size" -gt 900000
ok $? "the other column is not downloaded" "$(asked) of $size"
gdata dedup www/big.parquet >want 2>err
for how in cut flaky less away; do
    gdata encode -q -T tok --wait 0.01 -o "$how" "$at/$how/big.parquet" \
        >out 2>err
    cmp want.bin "${how}_000000.bin"
    ok $? "a column is read from a server that behaves as '$how'" "$(cat err)"
done
gdata dedup "$at/plain/big.parquet" >out 2>err; cmp want out
ok $? "all columns are read where lines are kept"
gdata dedup --where 'text = "row 1.5"' "$at/plain/big.parquet" >out 2>err
is "$(cut -c 1-16 out)" '{"text":"row 1.5' "--where reads a column of a server's file"

# a footer that is longer than what is asked for at first
perl "$top/t/lib/parquet.pl" 900 1 3 >www/groups.parquet
gdata dedup www/groups.parquet >want 2>err
gdata dedup "$at/plain/groups.parquet" >out 2>err
cmp want out && test "$(wc -l <out)" = 900
ok $? "a long footer is downloaded whole" "$(cat err)"

# encode goes on with the row group in which it was stopped
perl "$top/t/lib/parquet.pl" 60 2000 20 >www/long.parquet
encode www/long.parquet whole --shard-tokens 200000
: >log
encode "$at/tired/long.parquet" part --shard-tokens 200000 --mark-every 0 \
    --tries 1
is $? 4 "encode fails when its server does" "$(cat err)"
before=$(tail -1 log | sed 's/.*bytes=//; s/-.*//')
: >log
encode "$at/tired/long.parquet" part --shard-tokens 200000 --mark-every 0
ok $? "encode goes on with a server's file" "$(cat err)"
for f in whole_*.bin; do
    cmp "$f" "part${f#whole}"; ok $? "$f is the same after that"
done
first=$(sed -n '3s/.*bytes=//; 3s/-.*//p' log)
test "$first" -gt $((before / 2)) && test "$first" -le "$before"
ok $? "what was encoded before is not downloaded again" "$first, $before"

refuses() { # refuses HOW PATTERN NAME
    encode "$at/$1/big.parquet" no
    is $? 4 "$3" "$(cat err)"
    like err "$2" "the message says so: $3"
    test ! -e no_000000.bin
    ok $? "no shard is left: $3"
    rm -f no*
}
refuses norange 'save the file with gdata fetch first' \
    "a server that sends no ranges is refused"
refuses changing 'changed during the download' \
    "a file with another ETag in a later answer is refused"
refuses growing 'changed during the download' \
    "a file with another size in a later answer is refused"
refuses wrong 'gdata fetch first' "another range than was asked for is refused"
refuses bare 'gdata fetch first' "a range that the server does not name is refused"
refuses unknown 'gdata fetch first' \
    "a server that does not tell the size is refused"
refuses more 'gdata fetch first' "more bytes than were asked for are refused"
refuses gone '404' "a file that is not there is refused"

# footers that name places outside the file, and files that are none
perl "$top/t/lib/parquet.pl" 2 10 10 100000 >www/far.parquet
echo 'no Parquet, but twelve bytes' >www/text.parquet
printf PA >www/tiny.parquet
: >www/empty.parquet
for f in far text tiny empty; do
    gdata encode -q -T tok -o no "$at/plain/$f.parquet" >out 2>err
    test $? != 0 && test "$(grep -vc warning: err)" = 1 && test ! -e no_000000.bin
    ok $? "$f.parquet is refused in one line" "$(cat err)"
done
head -c 500000 www/big.parquet >www/half.parquet
encode "$at/plain/half.parquet" no
like err "footer is missing" "a file without its end is refused"

# names of files on Hugging Face
mkdir -p www
HF_ENDPOINT=$at/plain; export HF_ENDPOINT
: >log
encode hf://datasets/me/set/en/big.parquet hub && cmp want.bin hub_000000.bin
ok $? "an hf:// name is read from the server" "$(cat err)"
is "$(cut -d' ' -f2 log | sort -u)" /plain/datasets/me/set/resolve/main/en/big.parquet \
    "an hf:// name without a revision is that of main"
: >log
encode hf://datasets/me/set@v2%2Fx/big.parquet hub2
is "$(cut -d' ' -f2 log | sort -u)" /plain/datasets/me/set/resolve/v2%2Fx/big.parquet \
    "an hf:// name may have a revision"
cp "$top/README.md" www/readme.txt
gdata fetch -q -o fetched hf://datasets/me/set/readme.txt 2>err &&
    cmp www/readme.txt fetched/readme.txt
ok $? "gdata fetch takes an hf:// name" "$(cat err)"
HF_TOKEN=secret encode hf://datasets/me/set/big.parquet hub3
! grep -q secret log
ok $? "the token of Hugging Face is not sent to another host"
for name in hf://datasets/me hf://datasets/me/set hf://datasets/me/set@/f.parquet \
    hf://me/set/f.parquet; do
    encode $name no
    test $? = 2 && grep -q 'expected hf://datasets/OWNER/NAME' err
    ok $? "$name is refused as incomplete" "$(cat err)"
done
done_testing
