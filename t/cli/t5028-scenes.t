#!/bin/sh
# What another user of the machine tries; run by make check-long, as root.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
test "${GT_LONG:-}" || skip_all "make check-long runs this"
test "$(id -u)" -eq 0 || skip_all "only root can be another user"
command -v setpriv >/dev/null || skip_all "no setpriv"
command -v perl >/dev/null || skip_all "no perl"
tries=${GT_COUNT:-200}
chmod 711 "$dir"
# other COMMAND...: run it as a user who owns nothing here
other() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
other id -u >out 2>err && holds out 65534 || skip_all "no other user"
umask 022

# ---- secrets ----
mkdir -m 700 private
echo 'step=1 loss=2' | gtrack log -r private/store a -p phrase=SEKRET 2>err
unset GTRACK_CACHE
# only what is not new is cached
GT_CLOCK_MS=$(($(date +%s) + 3600))000 gtrack ls -r private/store -c phrase >out 2>err
grep -rq SEKRET cache
ok $? "the cache has the parameters of a store in a private folder"
other grep -rs SEKRET "$dir/cache" >out 2>err
test $? -ne 0 && ! grep -q . out
ok $? "another user reads none of them in the cache"

gtrack serve -r private/store --listen unix:socket >url 2>err &
server=$!
await_file url
other perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0);
    exit !connect(S, sockaddr_un("'"$dir"'/socket"))' 2>err
test $? -ne 0 && perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0);
    exit !connect(S, sockaddr_un("socket"))'
ok $? "another user cannot use the socket of a server, and its owner can"
sed 's/.*token=//' url >token
test "$(wc -c <token)" -gt 20 &&
    ! other cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -qf token
ok $? "the list of processes does not show the token of a server"
kill $server
wait $server

# ---- a folder that another user prepares ----
mkdir -m 1777 shared
gtrack bundle -r private/store a -o a.tar >out 2>err
for name in $(seq 1 "$tries"); do
    ln -s "$dir/private" "shared/gtrack-$name"
done
TMPDIR=$dir/shared gtrack verify a.tar >out 2>err
test $? -eq 0 && test "$(ls shared | wc -l)" -eq "$tries" &&
    test "$(ls private)" = store
ok $? "verify unpacks into a folder that nobody else prepared, and removes it"
if PYTHONPATH=$top/python GTRACK_LIBRARY=$build/libgtrack.so.0 \
    PYTHONDONTWRITEBYTECODE=1 python3 -c 'import gtrack' 2>err; then
    GTRACK_LIBRARY=$build/libgtrack.so.0 TMPDIR=$dir/shared PYTHONPATH=$top/python \
        PYTHONDONTWRITEBYTECODE=1 python3 - >out 2>err <<'END'
import gtrack, os
run = gtrack.init(mode="disabled")
print(oct(os.stat(os.path.dirname(run.dir.rstrip("/"))).st_mode & 0o777))
END
    holds out 0o700
    ok $? "a disabled run of Python has a folder of its own" "$(cat err)"
else
    skip "a disabled run of Python has a folder of its own" "no python3 or libgtrack"
fi

# ---- a store that another user may write to, too ----
mkdir -m 777 open target
chmod 700 target
echo 'step=1 loss=2' | gtrack log -r open/store b 2>err
run=$PWD/$(gtrack -r open/store where b)
chmod -R a+rwX open
cat >swap.pl <<'END'
# exchange a folder of the run with a link to another one, again and again
my ($run, $flag, $kind) = @ARGV;
my @path = ("$run/$kind", "$run/link");
open F, ">", $flag and close F;
syscall(316, -100, $path[0], -100, $path[1], 2) while -e $flag;
END
# begin_swapping KIND: another user exchanges this folder of the run with a link
begin_swapping() {
    test -L "$run/$1" && rm "$run/$1"
    test -d "$run/$1" || mkdir -m 777 "$run/$1"
    rm -rf "$run/link" && ln -s "$dir/target" "$run/link"
    other perl swap.pl "$run" "$dir/open/swapping" "$1" 2>err &
    swapper=$!
    await_path open/swapping $swapper
}
end_swapping() {
    rm -f open/swapping
    wait $swapper
}
begin_swapping tags
written=0
for n in $(seq 1 "$tries"); do
    gtrack -r open/store tag b "t$n=x" 2>>err && written=$((written + 1))
done
end_swapping
test -z "$(ls target)"
ok $? "no tag leaves the run while its folder is exchanged with a link" \
    "$(ls target | wc -l) of $tries"
test "$written" -gt 0
ok $? "some of the tags were written" "$(tail -n 3 err)"
echo top secret >target/secret
begin_swapping tags
for n in $(seq 1 "$tries"); do
    gtrack -r open/store show b --all --json 2>>err
done >shown
end_swapping
test -s shown && ! grep -q 'top secret' shown
ok $? "nothing outside of the run is shown meanwhile"

echo '1 4242 1' >target/loss
begin_swapping metrics
for n in $(seq 1 "$tries"); do
    gtrack -r open/store metrics b 2>>err
done >shown
end_swapping
grep -q loss shown && ! grep -q 4242 shown
ok $? "no point outside of the run is shown meanwhile"
begin_swapping metrics
for n in $(seq 1 "$tries"); do
    for name in a b c d e f g h; do
        : >target/$name
        : >"$run/metrics/$name"
    done 2>>err
    gtrack -r open/store fsck --repair b 2>>err
done >shown
end_swapping
test "$(find target -name '?' | wc -l)" -eq 8 && grep -q 'is empty.*yes' shown
ok $? "fsck repairs nothing outside of the run meanwhile" "$(tail -n 3 shown)"
done_testing
