#!/bin/sh
# cuDNN has kernels for our attention graphs on Ampere, Ada, Hopper and
# Blackwell, and compiles them, on a machine without a GPU.  With `all`, for
# every width of heads that somebody uses.  $GT_CUDNN_LIBS has another cuDNN.
#
# Without a driver cuDNN gets as far as loading what it compiled.  A library
# that has every name of the driver's, and does nothing, lets it finish.
. "$(dirname "$0")/../lib/tap.sh"
test -x "$build/t/cuda/sdpa" || skip_all "built without cuDNN's header"
for d in /usr/local/cuda/lib64 /usr/local/cuda/lib /opt/cuda/lib64; do
    test -f "$d/stubs/libcuda.so" && stub=$d/stubs/libcuda.so && break
done
test -n "${stub:-}" || skip_all "the toolkit has no stub of the driver"
nm -D --defined-only "$stub" | awk '
    $2 == "T" { sub(/@.*/, "", $3); if ($3 !~ /^_/) print $3 }' |
    LC_ALL=C sort -u | awk '
    BEGIN { print "static char room[4096];" }
    /^cu(Library|Module)LoadData(Ex)?$/ || /^cuLibraryGet(Kernel|Module)$/ ||
    /^cu(KernelGetFunction|ModuleGetFunction)$/ {
        print "int " $1 "(void **p) { *p = room; return 0; }"; next }
    /^cu(Kernel|Func)SetAttribute$/ || /^cu(Library|Module)Unload$/ {
        print "int " $1 "(void) { return 0; }"; next }
    { print "int " $1 "(void) { return 34; }" }' >fake.c
${CC:-cc} -shared -fPIC -w -Wl,-soname,libcuda.so.1 fake.c \
    -o libcuda.so.1 || skip_all "a stand-in for the driver does not compile"
FAKE_DRIVER=1 LD_LIBRARY_PATH="$dir:${GT_CUDNN_LIBS:+$GT_CUDNN_LIBS:}$d" "$build/t/cuda/sdpa" "$@"
