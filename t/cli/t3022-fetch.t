#!/bin/sh
# gdata fetch: downloads that go wrong on the way, from a server of ours.
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

get() {         # get FILE HOW [OPTION]...: into out/FILE; err; status
    file=$1 how=$2
    shift 2
    : >log
    gdata fetch "$at/$how/$file" -o out --wait 0.01 --stall 10 "$@" \
        >table 2>err
}
same() { cmp -s "www/$1" "out/$1"; }
parts() { find out -name '*.part*' | grep -q .; }

awk 'BEGIN { for (i = 0; i < 2000; i++) print i * i % 7919, i }' >www/a.txt

get a.txt plain && same a.txt && ! parts
ok $? "a file is downloaded whole"
grep -q "^out/a.txt	$(wc -c <www/a.txt | tr -d ' ')	[0-9a-f]\{64\}$" table
ok $? "the size and the SHA-256 of a download are printed"
get a.txt plain && ! grep -q GET log && grep -q "already" err
ok $? "a file that is there is not downloaded again"

for how in norange once cut flaky; do
    rm -rf out
    get a.txt $how && same a.txt && ! parts
    ok $? "a file is downloaded whole from a server that behaves as '$how'"
done
test "$(grep -c GET log)" = 3
ok $? "status 503 is tried again"
rm -rf out; get a.txt once/again
test "$(awk '{print $3}' log | tail -1)" = "bytes=1000-"
ok $? "a download that broke asks only for the rest"
rm -rf out; get b.txt plain; test $? = 4 && grep -q 404 err && ! parts
ok $? "status 404 is final and leaves no file"
rm -rf out; get a.txt gone; test $? = 4 && test "$(grep -c GET log)" = 1
ok $? "status 404 is not tried again"
rm -rf out; get a.txt busy; test $? = 4 && grep -q "wait 1000 s" err
ok $? "a server that asks to wait too long is given up"
rm -rf out; get a.txt loop; test $? = 4
ok $? "redirects without end are an error"
rm -rf out; get a.txt wrong; test $? = 4 && grep -q "another range" err
ok $? "a range that was not asked for is refused"
rm -rf out; get a.txt changing && same a.txt && grep -q "starting again" err
ok $? "a file that changes on the server is downloaded anew"
rm -rf out; get a.txt bare; test $? = 4 && grep -q "another range" err
ok $? "a range that the server does not name is refused"
head -c 500 www/a.txt >www/start
rm -rf out; get a.txt shrunk && cmp -s www/start out/a.txt && ! parts
ok $? "a file that becomes shorter than its part is begun anew"
rm -rf out; get a.txt none; test $? = 4 && grep -q "204" err && ! parts
ok $? "status 204 is an error"
rm -rf out; get a.txt away && same a.txt
ok $? "a redirect is followed"

# a process that dies in the middle; the next one goes on
rm -rf out; get a.txt cut --tries 1; test $? = 4 && parts
ok $? "a part stays when all tries fail"
get a.txt plain && same a.txt && ! parts
ok $? "the next process completes a part"
grep -q "bytes=1000-" log
ok $? "the next process asks only for the rest"
rm -rf out; get a.txt cut --tries 1
sed -i '1s/.*/"old"/' out/a.txt.part.tag
get a.txt plain && same a.txt && ! parts && grep -q "starting again" err
ok $? "a part of another version is thrown away"
sum=$(sha256sum www/a.txt | cut -d' ' -f1)
rm -rf out; get a.txt cut --tries 1; cp www/a.txt out/a.txt.part
sed -i "2s/.*/$(wc -c <www/a.txt) $sum/" out/a.txt.part.tag
get a.txt plain && same a.txt && ! parts && test "$(grep -c GET log)" = 1
ok $? "a part that is whole already becomes the file"
rm -rf out; get a.txt cut --tries 1
printf x | dd of=out/a.txt.part bs=1 seek=500 conv=notrunc 2>/dev/null
get a.txt plain && same a.txt && ! parts && grep -q "part is damaged" err
ok $? "a part with other bytes than were received is thrown away"
rm -rf out; get a.txt cut --tries 1; echo more >>out/a.txt.part
get a.txt plain && same a.txt && grep -q "bytes=1000-" log
ok $? "bytes of a part that the state does not know are received again"
rm -rf out; mkdir out; echo mine >mine; ln -s ../mine out/a.txt.part
get a.txt plain; test $? = 1 && grep -q "is a symbolic link" err &&
    test "$(cat mine)" = mine
ok $? "a part that is a symbolic link is refused"
# the pipe is opened when the first one has received one half
rm -rf out; cp www/a.txt www/go.txt; mkfifo www/go.txt.go
gdata fetch "$at/hold/go.txt" -o out >table1 2>err1 & first=$!
exec 3>www/go.txt.go
get go.txt plain; second=$?
echo >&3; exec 3>&-
wait $first && test $second = 7 && same go.txt && ! parts &&
    grep -q "another gdata fetch is writing out/go.txt" err
ok $? "a second fetch of a file is refused and disturbs nothing"

rm -rf out; get a.txt plain --sha256 "$sum" && same a.txt
ok $? "a file with the SHA-256 of --sha256 is accepted"
rm -rf out; get a.txt plain --sha256 "0${sum%?}"; test $? = 1 && ! parts
ok $? "a file with another SHA-256 is refused"
test ! -f out/a.txt
ok $? "a file with another SHA-256 is removed"
rm -rf out; get a.txt plain --sha256 abc; test $? = 2 && ! grep -q GET log &&
    grep -q "64 hexadecimal digits" err
ok $? "a SHA-256 of three digits is refused before the download"
long=$(printf 'a%.0s' 1 2 3 4 5 6 7 | tr -d '\n' | sed 's/.*/&&&&&&&&&&/')
gdata fetch "http://$long/a.txt" -o out --wait 0.01 2>err >table
test $? = 4 && test "$(grep -c retrying err)" = 1 && grep -q "login node" err
ok $? "a host without an address is tried twice, and help is offered"
gzip <www/a.txt >www/a.txt.gz
rm -rf out; get a.txt.gz plain && same a.txt.gz
ok $? "a gzip file is downloaded whole"
head -c 3000 www/a.txt.gz >www/short.gz
{ head -c 3000 www/a.txt.gz; echo damage; tail -c +3008 www/a.txt.gz; } \
    >www/bad.gz
for f in short bad; do
    rm -rf out; get $f.gz plain; test $? = 1 && grep -q "$f.gz" err &&
        test ! -f out/$f.gz && ! parts
    ok $? "$f.gz, which does not inflate, is refused"
done

printf '\n <!DOCTYPE HTML><html>log in' >www/page.json.gz
cp www/page.json.gz www/page.jsonl
cp www/a.txt www/plain.gz
for f in page.json.gz page.jsonl; do
    rm -rf out; get $f plain; test $? = 1 && grep -q "HTML page" err &&
        test ! -f out/$f && ! parts
    ok $? "an HTML page in place of $f is refused"
done
rm -rf out; get plain.gz plain; test $? = 1 && grep -q "not compressed" err
ok $? "a file that is not compressed is refused if its name ends in .gz"
cp www/page.jsonl www/page
rm -rf out; get page plain && same page
ok $? "an HTML page may be downloaded"
rm -rf out; : >log
gdata fetch "$at/plain/a.txt" "$at/once/a.txt" -o out 2>err >table
test $? = 2 && ! grep -q GET log && grep -q "have the same name" err
ok $? "two URLs with the same file name are refused"

# straight to tokens
awk 'BEGIN { for (i = 0; i < 2000; i++)
                 printf "{\"text\":\"number %d, %d\"}\n", i, i * i }' >d.jsonl
gzip -c d.jsonl >www/d.json.gz
gdata bpe -q -n 300 -o tok d.jsonl 2>err
gdata encode -q -T tok -o want/d d.jsonl >table 2>err
for how in plain once norange; do
    gdata encode -q "$at/$how/d.json.gz" -T tok -o "got-$how/d" \
        --wait 0.01 >table 2>err &&
        cmp -s want/d_000000.bin "got-$how/d_000000.bin"
    ok $? "encode makes tokens from a server that behaves as '$how'"
done
gdata encode -q "$at/plain/d.json.gz" -T tok \
    --tokens 100 -o few/d >table 2>err
test "$(gdata info --tsv --no-header few/d_000000.bin | cut -f4)" = 100
ok $? "encode of a URL stops when there are enough tokens"
head -c 5000 www/d.json.gz >www/half.json.gz
gdata encode -q "$at/plain/half.json.gz" -T tok -o half/d \
    >table 2>err; test $? = 1 && grep -q "ends early" err
ok $? "encode fails when gzip data of a server end early"
gdata encode -q "$at/gone/d.json.gz" -T tok -o none/d >table 2>err
test $? = 4 && test "$(grep -o "gone/d.json.gz" err | wc -l)" = 1
ok $? "encode fails with status 404, and names the URL once"

# three files, of which the second is missing until the third try
for i in 1 2 3; do
    awk -v i=$i 'BEGIN { for (k = 0; k < 30000; k++)
        printf "{\"text\":\"file %d, number %d, %d\"}\n", i, k, k * k }' \
        >d$i.jsonl
    gzip -c d$i.jsonl >www/d$i.json.gz
done
rm -rf want; gdata encode -q -T tok -o want/d --shard-tokens 100k --val 0.1 \
    d1.jsonl d2.jsonl d3.jsonl >table 2>err
second=plain
remote() {      # remote FOLDER [COMMAND...]
    to=$1
    shift
    "$@" gdata encode "$at/plain/d1.json.gz" "$at/$second/d2.json.gz" \
        "$at/plain/d3.json.gz?download=true" --input jsonl -T tok \
        --shard-tokens 100k --val 0.1 --mark-every 0 --wait 0.01 -o "$to/d"
}
mv www/d2.json.gz away.gz
remote missing >table 2>err; status=$?
mv away.gz www/d2.json.gz
test $status = 4 && grep -q "404" err && grep -q "same command resumes" err
ok $? "encode keeps its progress when a file of a server is missing"
: >log; remote missing >table 2>err && diff -r want missing >diffs
ok $? "encode resumes to the same shards when the file is there"
! grep -q d1.json log && grep -q d2.json log
ok $? "encode does not download again the files that it has encoded"
if strace -o /dev/null true 2>/dev/null; then
    n=0
    for at_call in 1 2 3 5 8 12 20 33 47 60 5 9 17 25 30 40 8 16 50 21; do
        remote killed strace -f -qq -e trace=write -e signal=none \
            -e inject=write:signal=KILL:when=$at_call -o /dev/null \
            >table 2>err || n=$((n + 1))
    done
    remote killed >table 2>err && test $n -ge 15 && diff -r want killed >diffs
    ok $? "encode of URLs, killed twenty times, resumes to the same shards"
else
    skip "encode of URLs, killed twenty times, resumes to the same shards" "no strace"
fi
# the pipe is opened when encode has one half of the second file
mkfifo www/d2.json.gz.go
second=hold
# shellcheck disable=SC2016 # of the inner shell
remote stopped sh -c 'echo $$ >pid; exec "$@"' sh >table 2>err &
exec 3>www/d2.json.gz.go
kill -INT "$(cat pid)"; wait $!; status=$?
echo >&3; exec 3>&-
test $status = 75 && remote stopped >table 2>err && diff -r want stopped >diffs
ok $? "encode of URLs ends with status 75 on SIGINT and resumes"
gdata encode -q -T tok -o url/d --shard-tokens 100k --val 0.1 \
    d1.jsonl "$at/once/d2.json.gz" d3.jsonl --wait 0.01 >table 2>err &&
    diff -r want url >diffs
ok $? "encode reads URLs among its files"
# a stream that is killed when it has encoded some of what it received
cat d1.jsonl d2.jsonl >www/long.jsonl
gdata encode -q -T tok -o want/long www/long.jsonl >table 2>err
mkfifo www/long.jsonl.go
: >log
encode_long="gdata encode -q -T tok -o long/d --mark-every 0"
$encode_long "$at/hold/long.jsonl" >table 2>err & pid=$!
exec 3>www/long.jsonl.go
tries=0
until grep -q '^at 0 [5-9].....' long/d.state 2>/dev/null || ! kill -0 $pid ||
    test $tries = 20000; do
    tries=$((tries + 1))
done
kill -9 $pid; wait $pid
echo >&3; exec 3>&-
from=$(sed -n 's/^at 0 \([0-9]*\) .*/\1/p' long/d.state)
$encode_long "$at/hold/long.jsonl" >table 2>err &&
    cmp -s want/long_000000.bin long/d_000000.bin &&
    grep -q "bytes=$from-" log
ok $? "a stream of plain text that was killed asks only for the rest"
gdata dedup -q "$at/plain/d1.json.gz" >uniq 2>err && test "$(wc -l <uniq)" = 30000
ok $? "dedup reads a URL"

# names, and a mirror in the place of the original
mkdir -p www; printf 'not it' >www/input.txt
: >log
gdata fetch tinyshakespeare --mirror "$at/plain/" -o out 2>err
test $? = 1 && grep -q 'plain/karpathy/char-rnn/' log &&
    test ! -f out/tinyshakespeare.txt
ok $? "a known file is found below the mirror and checked by SHA-256"
printf 'not it' >www/lid.176.bin
gdata fetch lid.176 --mirror "$at/plain/" -o out 2>err
test $? = 1 && grep -q 'plain/fasttext/supervised-models/lid.176.bin' log &&
    grep -q 'lid.176.bin.*SHA-256' err && test ! -f out/lid.176.bin
ok $? "the model of languages is found below the mirror and checked by SHA-256"
gzip -c www/a.txt >www/c4-train.00007-of-01024.json.gz
gdata fetch c4 --shards 7 --mirror "$at/plain" -o out 2>err >table
same c4-train.00007-of-01024.json.gz
ok $? "a shard of c4 is chosen by number"
echo zip >www/eval_bundle.zip
gdata fetch core --mirror "$at/plain" -o out 2>err >table
same eval_bundle.zip
ok $? "the questions of CORE are an archive"
HF_TOKEN=secret gdata fetch c4 --shards 7 --mirror "$at/plain" -o out2 \
    2>err >table; ! grep -q secret log
ok $? "a token is not sent to a mirror"
: >log
http_proxy=$at HF_TOKEN=secret gdata fetch http://huggingface.co/plain/a.txt \
    -o out2 --tries 1 2>err >table
grep -q 'GET http://huggingface.co/' log && ! grep -q secret log
ok $? "a token is not sent without TLS"
# the recipe of conf/gpt2-124M.ini, with a smaller tokenizer and smaller files
recipe() {      # recipe WORD: the command in the file that has it
    sed -n 's/^;   //p' "$top/conf/gpt2-124M.ini" | sed -e ':a' -e '/\\$/N; s/\\\n//; ta' |
        grep "$1"
}
for i in 0 1; do
    cp "$top/t/fuzz/corpus/parquet/plain.parquet" www/00${i}_00000.parquet
done
gdata fetch fineweb-edu --shards 0-13 -l >links
test "$(sed -n '1p;$p' links | sed 's/.*resolve//')" = "/main/sample/10BT/000_00000.parquet
/main/sample/10BT/013_00000.parquet"
ok $? "fineweb-edu has fourteen files"
$(recipe 'fetch fineweb-edu') --shards 0-1 --mirror "$at/plain" -q 2>err
test $? = 0 && cmp -s data/fineweb-edu/001_00000.parquet www/001_00000.parquet
ok $? "fineweb-edu is fetched from a mirror"
$(recipe 'gdata encode') -T tok --shard-tokens 100 -q 2>err &&
    ls data/edu_fineweb10B/edufineweb_val_000000.npy \
        data/edu_fineweb10B/edufineweb_train_000001.npy >ls &&
    gdata decode -T tok --jsonl data/edu_fineweb10B/*val*.npy \
        data/edu_fineweb10B/*train*.npy | grep -q '"text":"first"'
ok $? "fineweb-edu is encoded for gpt2-124M.ini"
mkdir -p shelf/en && cp www/c4-train.00007-of-01024.json.gz shelf/en/
gdata fetch c4 --shards 7 --mirror shelf/ -o out3 2>err >table &&
    cmp -s out3/c4-train.00007-of-01024.json.gz shelf/en/c4-train*
ok $? "a mirror may be a folder"
gdata fetch c4 --shards 7 --mirror shelf --list >links 2>err &&
    test "$(cat links)" = "$(ls shelf/en/c4-train*)"
ok $? "--list names the files of a mirror that is a folder"
# the recipe of README.md, with a smaller tokenizer and smaller files
for i in 0 1; do
    cp "www/d$((i + 1)).json.gz" "www/c4-train.0000$i-of-01024.json.gz"
done
gdata encode -q -T tok -o want/c4 --tokens 300k --val 1% d1.jsonl d2.jsonl \
    >table 2>err
sed -n '/^    gdata encode.*c4/,/list)$/p' "$top/README.md" |
    sed "s|0-7|0-1 --mirror $at/plain|; s|gpt2|tok|; s|620M|300k -q|" >recipe
mkdir road && cp -R tok road/ && (cd road && sh ../recipe) >table 2>err &&
    cmp want/c4_train_000000.bin road/data/c4/c4_train_000000.bin &&
    cmp want/c4_val_000000.bin road/data/c4/c4_val_000000.bin &&
    test "$(find road -name '*.gz' | wc -l)" = 0
ok $? "C4 is encoded from its servers in one line, and not saved"
gdata fetch c4 --shards 6-7 --mirror shelf -o out4 2>err >table
test $? = 3 && grep -q "shelf/datasets/allenai/c4" err
ok $? "a file that is not in the folder of a mirror is named"
gdata fetch c4 --mirror nowhere -l 2>err; test $? = 2
ok $? "a mirror that is not a folder is refused"
gdata fetch c4 --shards 1024 -l 2>err; test $? = 2
ok $? "a shard number that does not exist is refused"
gdata fetch nothing 2>err; test $? = 2
ok $? "an unknown name is refused"
gdata fetch ftp://127.0.0.1/x -o out 2>err; test $? = 4
ok $? "other protocols than http and https are refused"
done_testing
