#!/bin/sh
# The wheel: it is built, and installed where nothing else is.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    skip_all "no Python 3.9 or later"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    skip_all "Python cannot make virtual environments (python3-venv)"
case $(nm -D "$build/libgtrack.so.0") in
*__asan_*|*__msan_*|*__gcov_*|*__ubsan_*)
    skip_all "the build has sanitizers or counts coverage" ;;
esac
for lib in yaml jansson inih z; do
    echo 'int main(void) { return 0; }' | ${CC:-cc} -x c - "-l:lib$lib.a" \
        -o /dev/null 2>/dev/null || skip_all "no static library lib$lib.a"
done

wheel=$(unset MAKEFLAGS MFLAGS; GT_PYTHON=$python ${MAKE:-make} -s \
    -C "$build" wheel 2>err | tail -n 1)
test -s "$build/$wheel"
ok $? "a wheel is built"
case $wheel in
wheel/gtrack-*-py3-none-manylinux_2_*_"$(uname -m)".whl) ;;
*) false ;;
esac
ok $? "the wheel's name tells the oldest C library" "$wheel"
if "$python" -m auditwheel --version >/dev/null 2>&1; then
    "$python" -m auditwheel show "$build/$wheel" >out 2>&1
    tag=${wheel%.whl}
    tr '\n' ' ' <out | grep -q "tag: \"${tag##*-none-}\""
    ok $? "auditwheel agrees with the wheel's tag"
else
    skip "auditwheel agrees with the wheel's tag" "no auditwheel"
fi

"$python" -m venv bare >out 2>err && bare/bin/python -m pip install -q \
    --no-index --no-deps --disable-pip-version-check "$build/$wheel" >out 2>err
ok $? "the wheel installs in a bare virtual environment"
unset PYTHONPATH GTRACK_LIBRARY
PATH=$dir/bare/bin:/usr/bin:/bin
export PATH
cat >program.py <<'P'
import gtrack as wandb

run = wandb.init(project="c4", config={"lr": 0.1})
for i in range(10):
    wandb.log({"loss": 10 - i})
run.finish()
print(wandb.Api().run(run.name).summary, wandb.__file__)
P
bare/bin/python program.py >out 2>err
is "$?$(cat err)" 0 "the installed module records a run without a message"
like out "^{'loss': 1.0} $dir/bare/lib/" \
    "the installed module reads the run by the installed program"
is "$(bare/bin/gtrack ls --tsv --no-header -c name,lr,loss)" \
    "run1${tab}0.1${tab}1.0" "the installed gtrack lists the run"
bare/bin/gplot metric loss run1 >out 2>err
ok $? "the installed gplot draws the run"
test -s bare/share/man/man7/gtrack-python.7
ok $? "the wheel installs the manuals"
bare/bin/python -m pip uninstall -qy gtrack >out 2>err &&
    ! test -e bare/bin/gtrack && ! ls -d bare/lib/*/site-packages/gtrack \
    2>/dev/null
ok $? "the wheel is removed without a trace"
done_testing
