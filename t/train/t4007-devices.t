#!/bin/sh
# gtrain devices lists the CPU, and names NVIDIA's libraries and their versions.
. "$(dirname "$0")/../lib/tap.sh"

gtrain devices --tsv --no-header >out 2>err
like out "^cpu$tab.*thread" "the CPU is listed"
# A program without CUDA names what others opened, and one with it what it found.
gpu=$build/gtrain
if ! grep -q '^#define HAVE_CUDA ' "$build/config.h"; then
    gpu=$build/gtrain-emulated
    unlike err 'libcudnn' "a library that was not opened is not named"
    cp "$build/libgtrack.so.0" libcudnn.so.9
    LD_PRELOAD=$dir/libcudnn.so.9 gtrain devices >out 2>err
    if grep -q preload err; then
        skip "the file of a library is named" "no LD_PRELOAD"
    else
        like err "^gtrain: $dir/libcudnn.so.9$" "the file of a library is named"
    fi
fi
# stand_in FOLDER NAME FUNCTION: a library of one function
stand_in() {
    mkdir -p "$1" && echo "$3" >fake.c &&
        ${CC:-cc} -shared -fPIC -w -Wl,-soname,"$2" -o "$1/$2" fake.c
}
env=$dir/env/lib/python3.9/site-packages/nvidia
if ! test -x "$gpu"; then
    skip "the libraries of GPUs are named" "gtrain-emulated is not built"
elif ! {
    stand_in "$env/cudnn/lib" libcudnn.so.9 'long cudnnGetVersion() { return 91801; }'
    stand_in "$env/cu13/lib" libcublasLt.so.13 'long cublasLtGetVersion() { return 130105; }'
    stand_in "$env/cublas/lib" libcublasLt.so.12 'long cublasLtGetVersion() { return 120805; }'
    stand_in "$env/nccl/lib" libnccl.so.2 'int ncclGetVersion(int *v) { *v = 22803; return 0; }'
    stand_in loader libnccl.so.2 'int ncclGetVersion(int *v) { *v = 21400; return 0; }'
    stand_in own mine.so 'int other() { return 0; }'
} 2>log; then
    skip "the libraries of GPUs are named" "no C compiler"
else
    export LD_LIBRARY_PATH="$dir/loader"
    VIRTUAL_ENV=$dir/env "$gpu" devices >out 2>err
    is "$(sed -n 's/^gtrain[-a-z]*: //p' err | grep -v 'lib\(cuda\|nvidia-ml\)\.so')" \
"$env/cu13/lib/libcublasLt.so.13 (version 13.1.5)
$env/cudnn/lib/libcudnn.so.9 (version 9.18.1)
$env/nccl/lib/libnccl.so.2 (version 2.28.3)" \
        "packages of Python come first, and the newest cuBLASLt, each with its version"
    "$gpu" devices >out 2>err
    # The toolkit that configure found may have a library, too.
    toolkit=$(sed -n 's/^#define CUDA_LIBDIR "\(.*\)"/\1/p' "$build/config.h")
    if test -e "$toolkit/libnccl.so.2"; then
        like err "^gtrain[-a-z]*: $toolkit/libnccl.so.2 (version" \
            "without packages of Python, the toolkit's library is taken"
    else
        like err "$dir/loader/libnccl.so.2 (version 2.14.0)$" \
            "without packages of Python or a toolkit, the loader finds a library"
    fi
    VIRTUAL_ENV=$dir/env GTRAIN_NCCL_LIB=$dir/own/mine.so "$gpu" devices >out 2>err
    like err "^gtrain[-a-z]*: $dir/own/mine.so$" \
        "the NCCL of GTRAIN_NCCL_LIB is named, without a version if it tells none"
fi
done_testing
