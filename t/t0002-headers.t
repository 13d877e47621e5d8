#!/bin/sh
# Every header stands alone, in C; what a .cu file may include, in C++ too.
top=${top_srcdir:-..}
n=0
try() {
    n=$((n + 1))
    if out=$("$@" -fsyntax-only -I. -I"$top" -I"$top/src" 2>&1); then
        echo "ok $n - $header alone, by $1"
    else
        echo "not ok $n - $header alone, by $1"
        echo "$out" | sed 's/^/# /'
    fi
}
for header in $(cd "$top" && ls src/*/*.h kernels/*.h); do
    try ${CC:-cc} -std=gnu11 -include config.h -x c "$top/$header"
    case $header in
    src/common/err.h|src/common/rng.h|kernels/*)
        try ${CXX:-c++} -std=c++20 -x c++ "$top/$header" ;;
    esac
done
echo "1..$n"
