#!/bin/sh
# Threads and ranks on a machine with two NUMA nodes of one processor each, which
# files in place of the kernel's describe.
if test -z "${IN_NAMESPACE-}" && unshare -rm true 2>/dev/null; then
    IN_NAMESPACE=1 exec unshare -rm "$0"
fi
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
test -n "${IN_NAMESPACE-}" || skip_all "no right to mount file systems"
make_ranks_case
unset OMP_NUM_THREADS OMP_PLACES OMP_PROC_BIND
# shellcheck disable=SC2046 # two words
set -- $(awk '/^Cpus_allowed_list/ { n = split($2, list, ",")
    for (i = 1; i <= n; i++) {
        split(list[i] "-" list[i], ends, "-")
        for (cpu = ends[1]; cpu <= ends[2]; cpu++)
            print cpu
    } }' /proc/self/status | head -n 2)
test $# -eq 2 || skip_all "there is one processor"
a=$1 b=$2
mkdir -p cpu cgroup node/node0 node/node3
echo 0,3 >node/has_cpu
echo "$a" >node/node0/cpulist
echo "$b" >node/node3/cpulist
for at in devices/system/node devices/system/cpu fs/cgroup; do
    mount --bind "${at##*/}" "/sys/$at" ||
        skip_all "no right to mount folders"
done
mkdir bin
cat >bin/git <<END
#!/bin/sh
env >"$dir/env"
exit 1
END
chmod +x bin/git
PATH=$dir/bin:$PATH
export OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='place %P %A'
# The processors of each process's threads, one process a line, are in `seen`.
# shellcheck disable=SC2086 # a list
learn() {
    rm -rf ck
    taskset -c "$a,$b" "$@" "$gtrain" -q --config c.ini --root runs \
        --set checkpoint.folder=ck $more >log 2>&1
    seen=$(awk '$1 == "place" { at[$2] = at[$2] " " $3 }
        END { for (p in at) print substr(at[p], 2) }' log |
        awk '{ print ($1 < $2 ? $1 " " $2 : $2 " " $1) }' | sort)
}
more=
learn env
is "$seen" "$a $b" "each thread is kept on its node"
sums ck >want
test -s env && ! grep -e '^OMP_P' -e '^GTRAIN_PLACED' env
ok $? "the places of threads are not passed on to other programs" "$(cat env)"
is "$("$gtrain" devices | grep -c '2 NUMA nodes')" 1 \
    "gtrain devices tells the number of nodes"

more="--ranks 2 --set train.threads=2"
learn env
is "$seen" "$a $a
$b $b" "the threads of each rank are kept on its node"
sums ck | cmp -s - want
ok $? "ranks on nodes train the same weights" "$(cat log)"

gtrack sweep -q -j 2 -o sweep --grid a=1,2 -- \
    sh -c 'echo "$OMP_NUM_THREADS $OMP_PLACES" >"place-$0"' '{a}' >log 2>&1
is "$(cat place-1 place-2)" "1 {$a:1}
1 {$b:1}" "commands of a sweep that run at a time have a node each"

more="--set train.threads=2"
learn env "OMP_PLACES={$a},{$b}" OMP_PROC_BIND=master
is "$seen" "$a $a" "OMP_PLACES and OMP_PROC_BIND are respected"
learn taskset -c "$b"
is "$seen" "$b $b" "the affinity that the program was started with is respected"

# The files of both versions of control groups; the kernel says which it has.
mkdir cgroup/memory
echo 1500000 | tee cgroup/memory.max >cgroup/memory/memory.limit_in_bytes
more=
learn env
is "$(grep -c 'needs at least [0-9.]* MiB .* and /sys/fs/cgroup/.* allows 1.43 MiB' \
    log)" 1 "a training names the memory that it needs and that its group allows"
env -u OMP_DISPLAY_AFFINITY "$gtrain" plan c.ini -q --device cpu --only step --tsv >out 2>err
is "$(tail -n 1 out | cut -f 9) $(grep -c 'allows 1.43 MiB' err)" "no 1" \
    "a plan for this machine knows the memory that its group allows"
rm cgroup/memory.max cgroup/memory/memory.limit_in_bytes
env -u OMP_DISPLAY_AFFINITY "$gtrain" plan c.ini -q --device cpu --only step --tsv >out 2>err
is "$(tail -n 1 out | cut -f 9) $(cat err)" "yes " \
    "a plan that fits the memory has no warning"
done_testing
