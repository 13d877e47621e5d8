#!/bin/sh
# The Python package: the tests of this folder, which need no package but those
# of Python itself.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    skip_all "no Python 3.9 or later"
# Many processes import the package: a copy keeps its bytecode, not the source.
cp -R "$top/python" python
unset PYTHONDONTWRITEBYTECODE
export PYTHONPATH="$dir/python"
export GTRACK_LIBRARY="$build/libgtrack.so.0"
"$python" -c 'import gtrack' 2>err ||
    skip_all "Python cannot load this build's libgtrack: $(tail -n 1 err)"
for name in $(env | sed -n 's/^\(\(WANDB\|MLFLOW\)_[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
"$python" -B "$top/t/python/tap.py" "$top/t/python"
