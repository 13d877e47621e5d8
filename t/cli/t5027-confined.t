#!/bin/sh
# What reads the files of others has given up the rights that it does not need.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
sandbox=$(gtrack --version -v | sed -n 's/^sandbox: //p')
case $sandbox in
"Landlock "[6-9]*", seccomp") ;;
*) skip_all "the sandbox is only: $sandbox" ;;
esac
command -v perl >/dev/null || skip_all "no perl"
tries=$build/t/lib/tries.so
LD_PRELOAD=$tries gtrack --version 2>&1 | grep -q preload && skip_all "no LD_PRELOAD"

mkdir -p made/mirror hidden
echo 'other words than those' >made/other.txt
printf 'step=%d loss=2\n' 1 2 3 | gtrack log a 2>err
echo '<!-- gtrack: a | loss -->2.0<!-- /gtrack -->' >made/report.md
gplot loss a -o made/fig.svg >log 2>&1 || printf \
    '<!-- gplot-figure %064d loss a; -->\n' 0 >made/fig.svg
gtrack bundle a -o a.tar --add made/report.md >log 2>&1
encode_letters tokens/data
small_ini data.tokenizer=tok 'data.train=tokens/data_*.bin' schedule.steps=1 \
    >c.ini
gtrain --config c.ini --name m >log 2>err && gtrain export m -o made/m.hf >log 2>err
ok $? "there are files of each kind to read" "$(cat err log)"

# tried COMMAND: what it could do at its end
tried() {
    rm -rf hidden && mkdir hidden && echo mine >hidden/kept
    TMPDIR=$dir/made LD_PRELOAD=$tries TRIES=$dir/hidden TRIES_PID=$$ sh -c "exec $1" \
        >log 2>err || printf 'failed '
    tr '\n' ' ' <hidden/did
}
is "$(tried 'gtrack completion bash')" \
    "write change mode owner time attributes rename core connect unix signal limit $(:
    )priority exec end " \
    "a command that is not confined can do all of this"
bad=
for command in 'gtrack tag a x=y' 'gtrack note a text' 'gtrack note a' \
    'gtrack fsck --repair' 'gtrack artifacts a' 'gtrack rm a' 'gtrack restore a' \
    'gtrack mv a -e other' 'gtrack gc -y' 'gdata lock text.txt -o made/data.lock' \
    'gdata leak --train text.txt --eval made/other.txt' \
    'gdata leak --train text.txt --eval made/other.txt --remove text -o made/l.jsonl' \
    'gtrain eval m --data "tokens/data_*.bin" --device cpu' \
    'gtrain sample m --device cpu --tokens 2' 'gtrack ls' 'gtrack show a' 'gtrack export --to csv -o made/a.csv' \
    'gtrack import -r made/copy mlruns' 'gtrack verify a.tar' \
    'gtrack bundle a -o made/b.tar' 'gtrack completion words -- gtrack show a' \
    'gtrack ls --follow-links' 'gtrack artifacts a --follow-links' 'gtrack show a --follow-links' \
    'gtrack claims made/report.md' 'gtrack claims --fill made/report.md' \
    'gtrack report a -o made/r.html' 'gplot loss a --data' \
    'gplot verify made/fig.svg' 'gplot redo made/fig.svg' \
    'gdata info tokens/data_000000.bin' 'gdata vocab tok' \
    'gdata decode -T tok tokens/data_000000.bin' 'gdata dedup text.txt' \
    'gdata verify tokens/data_000000.bin' 'gdata bpe --vocab 257 -o made/tok text.txt' \
    'gdata encode -T tok -o made/again text.txt' \
    'gtrain export m --format gguf -o made/again.gguf' \
    'gtrain import made/m.hf -o made/imported'; do
    did=$(tried "$command")
    test "$did" = "end " || bad="$bad
$command: $did $(cat err)"
done
is "$bad" "" "a command that reads files of others can do none of it"
ln -s "$dir/hidden" mlruns/link
is "$(tried 'gtrack tag a x=y')" "end " \
    "a link of the store that is no experiment gives no right to write behind it"
is "$(tried 'gtrack push --to mlflow --url http://127.0.0.1:9 --dry-run a')" \
    "connect unix end " "push can connect, and nothing else"
is "$(tried 'gdata gather --root made/mirror -o made/data')" "failed end " \
    "gather can do none of it"
is "$(tried 'gdata fetch --mirror made/mirror -o made/data tinyshakespeare')" \
    "failed connect unix end " "fetch can connect, and nothing else"
TRIES=$dir/hidden TRIES_PID=$$
export TRIES TRIES_PID
rm -rf hidden && mkdir hidden && echo mine >hidden/kept
LD_PRELOAD=$tries gtrack serve --edit >url 2>err &
server=$!
await_file url
kill $server
wait $server
is "$(tr '\n' ' ' <hidden/did)" "end " "a server can do none of it"
unset TRIES

# the same as one of two processes
mkdir second && echo mine >second/kept
WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)
export WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
RANK=1 LOCAL_RANK=1 LD_PRELOAD=$tries TRIES=$dir/second TRIES_PID=$$ \
    gtrain eval m --data 'tokens/data_*.bin' --device cpu >did 2>&1 &
is "$(RANK=0 LOCAL_RANK=0 tried 'gtrain eval m --data "tokens/data_*.bin" --device cpu')" \
    "connect unix end " "rank 0 of an evaluation can connect, and nothing else"
wait $!
is "$? $(tr '\n' ' ' <second/did)" "0 connect unix end " \
    "another rank of an evaluation can connect, and nothing else"
unset WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT

gtrain -v eval m --data 'tokens/data_*.bin' --device cuda >log 2>err
grep -q 'debug: .*need all the rights' err
ok $? "evaluation on a GPU says that it keeps its rights" "$(tail -n 3 err)"
mkdir elsewhere && touch elsewhere/text && ln -s "$dir/elsewhere/text" made/link
gdata decode -T tok tokens/data_000000.bin -o made/link 2>err
test $? -eq 0 && test -L made/link && test -s elsewhere/text
ok $? "an output that is a link is written where it leads"

if command -v strace >/dev/null && strace -o log true 2>err; then
    strace -f -o log -e inject=landlock_create_ruleset:error=ENOSYS \
        gtrack ls -v >made/ls 2>err
    test $? -eq 0 && grep -q '^gtrack: debug: .*Landlock' err
    ok $? "without the help of the kernel, -v says so, and the command goes on"
else
    skip "without the help of the kernel, -v says so, and the command goes on" "no strace"
fi
done_testing
