#!/bin/sh
# bench/gpu.sh runs to its end, on the emulated device, and says where there is
# none; the kit that carries it has what it needs.
top=${top_srcdir:-..} build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME="$dir/cache"
n=0
say() {
    n=$((n + 1))
    if test "$1" = 0; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$dir/out" | tail -20
    fi
}
mkdir "$dir/emu" "$dir/none"
ln -s "$build/t/cuda/gtrain-emu" "$dir/emu/gtrain"
ROWS=tiny STEPS=3 TORCH=no "$top/bench/gpu.sh" "$dir/emu" >"$dir/out" 2>&1
say $? "bench/gpu.sh runs to its end"
awk '$1 == "tiny" && $2 + 0 > 0 && $4 + 0 > 0 && $6 + 0 > 0 && NF == 20 {
    good = 1 } END { exit !good }' "$dir/out"
say $? "its table has the rate, the time of a step and of a micro-step"
grep -q '^attention_bwd .* [0-9.]*$' "$dir/out"
say $? "and every operation beside its floor"
printf '#!/bin/sh\necho "cuda  no CUDA device"\n' >"$dir/none/gtrain"
chmod +x "$dir/none/gtrain"
! "$top/bench/gpu.sh" "$dir/none" >"$dir/out" 2>&1 &&
    grep -q 'no CUDA device here' "$dir/out"
say $? "without a GPU it says so and fails"
"$top/bench/gpu-kit" "$build" "$dir/kit" >"$dir/out" 2>&1 &&
    "$dir/kit/run" gtrain --version >>"$dir/out" 2>&1 &&
    test -x "$dir/kit/t/unit/kernels.t" && test -f "$dir/kit/t/reference/model.txt"
say $? "the kit's program starts from where it was carried to"
echo "1..$n"
