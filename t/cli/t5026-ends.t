#!/bin/sh
# What checks the files of others ends, and cleans up.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

# what a figure is drawn from cannot be read before a pipe ends
disk=$build/t/lib/disk.so
LD_PRELOAD=$disk gtrack --version 2>&1 | grep -q preload && skip_all "no LD_PRELOAD"
mkdir temp files
mkfifo wait
printf 'step\tlr\n0\t1\n' | tee rates.tsv >files/rates.tsv
echo '![](evil.svg)' >report.md
printf '<!-- gplot-figure %064d schedule files/rates.tsv; -->\n' 0 >evil.svg
echo 'step=1 loss=2' | gtrack log a 2>err
gtrack bundle a -o a.tar --add report.md --add evil.svg --add rates.tsv >out 2>err
ok $? "an archive with a figure that does not end is packed" "$(cat err)"
trap '' PIPE
for command in 'gtrack verify a.tar' 'gtrack claims report.md' \
    'gplot verify evil.svg' 'gplot redo evil.svg'; do
    TMPDIR=$dir/temp LD_PRELOAD=$disk DISK_HOLD=/files:$dir/wait \
        sh -c "exec $command" >out 2>err &
    pid=$!
    exec 3>wait # the figure waits for it
    kill -TERM $pid
    wait $pid
    status=$?
    # nobody reads the pipe any more, once the kernel has ended the reader
    tries=10000
    while echo x >&3 && test $tries -gt 0; do
        tries=$((tries - 1))
    done 2>/dev/null
    test $status -eq 130 -a -z "$(ls temp)" -a $tries -gt 0
    ok $? "$command ends when it is interrupted, and leaves nothing" "$status $(cat out err)"
    exec 3>&-
done
done_testing
