#!/bin/sh
# gtrain trains odd combinations of models, optimisers and schedules as PyTorch
# does: each loss and norm is about as close to PyTorch in float64 as PyTorch in
# our type is (doc/numerics.md, t/reference/options.py).
python=${GT_PYTHON:-python3}
if ! "$python" -c 'import torch, safetensors' 2>/dev/null; then
    echo "1..0 # SKIP $python has no torch and safetensors"
    exit 0
fi
if [ ! -x "${top_builddir:-.}/bench/start" ]; then
    echo "1..0 # SKIP bench/start is not built"
    exit 0
fi
cd "${top_builddir:-.}" || exit 1
top_srcdir=${top_srcdir:-..}
export top_srcdir
"$python" "$top_srcdir/t/reference/options.py" -n "${GT_CASES:-30}"
