#!/bin/sh
# Every header compiles alone in C; what a .cu file may include, in C++ too.
. "$(dirname "$0")/../lib/tap.sh"

# The headers of CUDA that a header includes and this machine does not have.
lacks() { # HEADER
    for want in $(sed -n 's/^#include <\(cu[a-z_]*\.h\)>.*/\1/p' "$top/$1"); do
        echo "#include <$want>" | ${CC:-cc} -E - >/dev/null 2>&1 || echo "$want"
    done
}

compile() { # COMPILER OPTION...
    if test -n "$absent"; then
        skip "$header compiles alone with $1" "no $absent here"
    else
        check "$header compiles alone with $1" \
            "$@" -fsyntax-only -I"$build" -I"$top" -I"$top/src"
    fi
}

# shellcheck disable=SC2086 # CC and CXX may hold options
for header in $(cd "$top" && find src kernels -name "*.h" | LC_ALL=C sort); do
    absent=$(lacks "$header")
    compile ${CC:-cc} -std=gnu11 -include config.h -x c "$top/$header"
    case $header in
    src/common/err.h|src/common/rng.h|kernels/*)
        compile ${CXX:-c++} -std=c++20 -x c++ "$top/$header" ;;
    esac
done
done_testing
