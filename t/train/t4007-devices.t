#!/bin/sh
# gtrain devices lists the CPU, and says where NVIDIA's libraries came from.
. "$(dirname "$0")/../lib/tap.sh"

gtrain devices --tsv --no-header >out 2>err
like out "^cpu$tab.*thread" "the CPU is listed"
unlike err 'libcudnn' "a library that was not opened is not named"
cp "$build/libgtrack.so.0" libcudnn.so.9
LD_PRELOAD=$dir/libcudnn.so.9 gtrain devices >out 2>err
if grep -q preload err; then
    skip "the file of a library is named" "no LD_PRELOAD"
else
    like err "^gtrain: $dir/libcudnn.so.9$" "the file of a library is named"
fi
done_testing
