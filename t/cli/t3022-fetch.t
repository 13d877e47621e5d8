#!/bin/sh
# gdata fetch: downloads that go wrong on the way, from a server of ours.
. "$(dirname "$0")/../lib/tap.sh"
shown="words log"
top=${top_srcdir:-..}
case $top in /*) ;; *) top=$PWD/$top ;; esac
perl -MIO::Socket::INET -e 1 2>/dev/null ||
    { echo "1..0 # SKIP no perl"; exit 0; }
dir=$(mktemp -d)
cd "$dir" || exit 1
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

get() {         # get FILE HOW [OPTION]...: into out/FILE; words; status
    file=$1 how=$2
    shift 2
    : >log
    gdata fetch "$at/$how/$file" -o out --wait 0.01 --stall 10 "$@" \
        >table 2>words
}
same() { cmp -s "www/$1" "out/$1"; }
parts() { find out -name '*.part*' | grep -q .; }

awk 'BEGIN { for (i = 0; i < 2000; i++) print i * i % 7919, i }' >www/a.txt

get a.txt plain && same a.txt && ! parts
result $? "a file comes whole"
grep -q "^out/a.txt	$(wc -c <www/a.txt | tr -d ' ')	[0-9a-f]\{64\}$" table
result $? "its size and SHA-256 are printed"
get a.txt plain && ! grep -q GET log && grep -q "already" words
result $? "and is not fetched again"

for how in norange once cut flaky; do
    rm -rf out
    get a.txt $how && same a.txt && ! parts
    result $? "a file comes whole: $how"
done
test "$(grep -c GET log)" = 3
result $? "503 is tried again"
rm -rf out; get a.txt once/again
test "$(awk '{print $3}' log | tail -1)" = "bytes=1000-"
result $? "only the rest is asked for"
rm -rf out; get b.txt plain; test $? = 4 && grep -q 404 words && ! parts
result $? "404 is final, and leaves nothing"
rm -rf out; get a.txt gone; test $? = 4 && test "$(grep -c GET log)" = 1
result $? "and is not tried again"
rm -rf out; get a.txt busy; test $? = 4 && grep -q "wait 1000 s" words
result $? "a server that asks for more patience than there is"
rm -rf out; get a.txt loop; test $? = 4
result $? "redirects without end"
rm -rf out; get a.txt wrong; test $? = 4 && grep -q "another range" words
result $? "another range than asked for is refused"
rm -rf out; get a.txt changing && same a.txt && grep -q anew words
result $? "a file that changes is begun anew"
rm -rf out; get a.txt bare; test $? = 4 && grep -q "another range" words
result $? "so is one that is not named"
head -c 500 www/a.txt >www/start
rm -rf out; get a.txt shrunk && cmp -s www/start out/a.txt && ! parts
result $? "a file that becomes shorter than its part is begun anew"
rm -rf out; get a.txt none; test $? = 4 && grep -q "204" words && ! parts
result $? "no content is no file"
rm -rf out; get a.txt away && same a.txt
result $? "a redirect is followed"

# a process that dies in the middle; the next one goes on
rm -rf out; get a.txt cut --tries 1; test $? = 4 && parts
result $? "what came stays when all tries fail"
get a.txt plain && same a.txt && ! parts
result $? "the next process completes it"
grep -q "bytes=1000-" log
result $? "with a request for the rest"
rm -rf out; get a.txt cut --tries 1
printf '"old"' >out/a.txt.part.tag
get a.txt plain && same a.txt && ! parts
result $? "a part of another version is thrown away"
rm -rf out; get a.txt cut --tries 1; cp www/a.txt out/a.txt.part
get a.txt plain && same a.txt && ! parts
result $? "a part that is whole already"

sum=$(sha256sum www/a.txt | cut -d' ' -f1)
rm -rf out; get a.txt plain --sha256 "$sum" && same a.txt
result $? "the SHA-256 that was told"
rm -rf out; get a.txt plain --sha256 "0$sum"; test $? = 1 && ! parts
result $? "another one is refused"
test ! -f out/a.txt
result $? "and the file is not there"
gzip <www/a.txt >www/a.txt.gz
rm -rf out; get a.txt.gz plain && same a.txt.gz
result $? "gzip comes whole"
head -c 3000 www/a.txt.gz >www/short.gz
{ head -c 3000 www/a.txt.gz; echo damage; tail -c +3008 www/a.txt.gz; } \
    >www/bad.gz
for f in short bad; do
    rm -rf out; get $f.gz plain; test $? = 1 && grep -q "$f.gz" words &&
        test ! -f out/$f.gz && ! parts
    result $? "$f.gz does not inflate, and is refused"
done

gdata fetch "$at/once/a.txt" --stream --wait 0.01 2>words | cmp -s - www/a.txt
result $? "--stream prints it, once, also when the connection breaks"
cat www/a.txt www/a.txt >twice
gdata fetch "$at/norange/a.txt" "$at/plain/a.txt" --stream 2>words |
    cmp -s - twice
result $? "--stream prints one after the other"
gdata fetch "$at/plain/a.txt" --stream 2>words | head -c 10 >/dev/null
result $? "a reader that has enough is no error"

# straight to tokens
awk 'BEGIN { for (i = 0; i < 2000; i++)
                 printf "{\"text\":\"number %d, %d\"}\n", i, i * i }' >d.jsonl
gzip -c d.jsonl >www/d.json.gz
gdata bpe -q -n 300 -o tok d.jsonl 2>words
gdata encode -q -T tok -o want/d d.jsonl >table 2>words
for how in plain once norange; do
    gdata fetch -q "$at/$how/d.json.gz" --stream -T tok -o "got-$how/d" \
        --wait 0.01 >table 2>words &&
        cmp -s want/d_000000.bin "got-$how/d_000000.bin"
    result $? "--stream to tokens: $how"
done
gdata fetch -q "$at/plain/d.json.gz" --stream -T tok \
    --tokens 100 -o few/d >table 2>words
test "$(gdata info --tsv --no-header few/d_000000.bin | cut -f4)" = 100
result $? "--tokens stops when there are enough"
head -c 5000 www/d.json.gz >www/half.json.gz
gdata fetch -q "$at/plain/half.json.gz" --stream -T tok -o half/d \
    >table 2>words; test $? = 1 && grep -q "end early" words
result $? "gzip that ends early is an error there, too"
gdata fetch -q "$at/gone/d.json.gz" --stream -T tok -o none/d >table 2>words
test $? = 4; result $? "and so is 404"

# names, and a mirror in the place of the original
mkdir -p www; printf 'not it' >www/input.txt
: >log
gdata fetch tinyshakespeare --mirror "$at/plain/" -o out 2>words
test $? = 1 && grep -q 'plain/karpathy/char-rnn/' log &&
    test ! -f out/tinyshakespeare.txt
result $? "a name has its path below the mirror, and its SHA-256"
gzip -c www/a.txt >www/c4-train.00007-of-01024.json.gz
gdata fetch c4 --shards 7 --mirror "$at/plain" -o out 2>words >table
same c4-train.00007-of-01024.json.gz
result $? "c4 by number"
HF_TOKEN=secret gdata fetch c4 --shards 7 --mirror "$at/plain" -o out2 \
    2>words >table; ! grep -q secret log
result $? "a token is not sent to a mirror"
gdata fetch c4 --shards 1024 -l 2>words; test $? = 2
result $? "a number that does not exist"
gdata fetch nothing 2>words; test $? = 2
result $? "a name that does not exist"
gdata fetch ftp://127.0.0.1/x -o out 2>words; test $? = 4
result $? "only http and https"
echo "1..$n"
