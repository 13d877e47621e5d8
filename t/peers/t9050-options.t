#!/bin/sh
# Models, optimisers and schedules in odd combinations, as PyTorch has them.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
"$python" -c 'import torch, safetensors' 2>/dev/null ||
    skip_all "$python has no torch and safetensors"
test -x "$build/bench/start" || skip_all "bench/start is not built"
cd "$build" || exit 1
top_srcdir=$top
export top_srcdir
"$python" "$top/t/reference/options.py" -n "${GT_CASES:-30}"
