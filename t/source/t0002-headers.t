#!/bin/sh
# Every header stands alone, in C; what a .cu file may include, in C++ too.
top=${top_srcdir:-..}
n=0
# A header of CUDA's that it includes, and that this machine has not.
lacks() { # HEADER
    for want in $(sed -n 's/^#include <\(cu[a-z_]*\.h\)>.*/\1/p' "$top/$1"); do
        echo "#include <$want>" | ${CC:-cc} -E - >/dev/null 2>&1 || echo "$want"
    done
}

try() {
    n=$((n + 1))
    if test -n "$absent"; then
        echo "ok $n - $header alone, by $1 # SKIP no $absent here"
    elif out=$("$@" -fsyntax-only -I. -I"$top" -I"$top/src" 2>&1); then
        echo "ok $n - $header alone, by $1"
    else
        echo "not ok $n - $header alone, by $1"
        echo "$out" | sed 's/^/# /'
    fi
}
for header in $(cd "$top" && find src kernels -name "*.h" | LC_ALL=C sort); do
    absent=$(lacks "$header")
    try ${CC:-cc} -std=gnu11 -include config.h -x c "$top/$header"
    case $header in
    src/common/err.h|src/common/rng.h|kernels/*)
        try ${CXX:-c++} -std=c++20 -x c++ "$top/$header" ;;
    esac
done
echo "1..$n"
