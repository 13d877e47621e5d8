#!/bin/sh
# The Python package with W&B's client, MLflow, transformers, Lightning, Keras
# and others of libraries.txt, as far as GT_PYTHON has them or a folder of
# GT_SOURCES has their source.  Part of `make check-peers`.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" || skip_all "make check-peers asks the peers"
export PYTHONPATH="$top/python:$top/t/python" PYTHONDONTWRITEBYTECODE=1
export GTRACK_LIBRARY="$build/libgtrack.so.0" CUDA_VISIBLE_DEVICES=
export MLFLOW_DISABLE_TELEMETRY=true HF_HUB_OFFLINE=1
"$python" -c 'import gtrack' 2>err ||
    skip_all "Python cannot load this build's libgtrack: $(tail -n 1 err)"
"$python" -W ignore "$top/t/python/tap.py" "$top/t/peers" python \
    libraries
