#!/bin/sh
# Each version of cuDNN in the folder $GT_CUDNN has kernels for our attention
# graphs on Ampere, Ada, Hopper and Blackwell.  Fill the folder with
#
#   pip install --target $GT_CUDNN/9.14 nvidia-cudnn-cu12==9.14.* \
#       nvidia-cuda-nvrtc-cu12 nvidia-cublas-cu12
. "$(dirname "$0")/../lib/tap.sh"
test -x "$build/t/cuda/sdpa" || skip_all "built without cuDNN's header"
test -d "${GT_CUDNN:-}" || skip_all "GT_CUDNN names no folder"

for version in "$GT_CUDNN"/*/nvidia; do
    GT_CUDNN_LIBS=$version/cudnn/lib:$version/cuda_nvrtc/lib \
        "$top/t/cuda/t8050-cudnn.t" >out 2>err
    status=$?
    name=$(basename "$(dirname "$version")")
    why=$(sed -n 's/^1\.\.0 # SKIP //p' out)
    if test -n "$why"; then
        skip "cuDNN $name has kernels for every GPU" "$why"
    else
        test $status -eq 0 && grep -q '^ok .* cuDNN' out
        ok $? "cuDNN $name has kernels for every GPU" "$(grep -v '^ok' out err)"
    fi
done
done_testing
