#!/bin/sh
# What checks the files of others ends, and cleans up.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

# gtrack finds a stand-in for gtrain beside itself, which waits for a pipe
mkdir bin temp
for program in gtrack gplot; do
    ln "$build/$program" bin/ 2>err || cp "$build/$program" bin/
done
mkfifo wait
printf '#!/bin/sh\nexec cat "%s/wait"\n' "$dir" >bin/gtrain
chmod +x bin/gtrain
PATH=$dir/bin:$PATH
echo '[train]' >c.ini
echo '![](evil.svg)' >report.md
printf '<!-- gplot-figure %064d schedule c.ini; -->\n' 0 >evil.svg
echo 'step=1 loss=2' | gtrack log a 2>err
gtrack bundle a -o a.tar --add report.md --add evil.svg --add c.ini >out 2>err
ok $? "an archive with a figure that does not end is packed" "$(cat err)"
trap '' PIPE
for command in 'gtrack verify a.tar' 'gtrack claims report.md' \
    'gplot verify evil.svg' 'gplot redo evil.svg'; do
    # shellcheck disable=SC2086 # a command and its arguments
    TMPDIR=$dir/temp $command >out 2>err &
    pid=$!
    exec 3>wait # gtrain reads it
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
