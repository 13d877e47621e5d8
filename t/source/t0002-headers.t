#!/bin/sh
# Every header compiles alone in C; what a .cu file may include, in C++ too.
. "$(dirname "$0")/../lib/tap.sh"

# The headers of CUDA that a header includes and this machine does not have.
cuda=$(grep -rl '^#include <cu' "$top/src" "$top/kernels")
lacks() { # HEADER
    case $cuda in *"/$1"*) ;; *) return ;; esac
    for want in $(sed -n 's/^#include <\(cu[a-z_]*\.h\)>.*/\1/p' "$top/$1"); do
        echo "#include <$want>" | ${CC:-cc} -E - >/dev/null 2>&1 || echo "$want"
    done
}

# compile HEADERS COMPILER OPTION...: each of these files by itself.  One call of
# the compiler for all of them costs less; if it fails, it is not known for which.
compile() {
    these=$1
    shift
    # shellcheck disable=SC2086 # a list
    (cd "$top" && "$@" -fsyntax-only -I"$build" -I. -Isrc $these) >out 2>err
    all=$?
    for header in $these; do
        name="$header compiles alone with $1"
        if test $all -eq 0; then
            ok 0 "$name"
        else
            check "$name" "$@" -fsyntax-only -I"$build" -I"$top" -I"$top/src" \
                "$top/$header"
        fi
    done
}

in_c='' in_cxx=''
for header in $(cd "$top" && find src kernels -name "*.h" | LC_ALL=C sort); do
    absent=$(lacks "$header")
    if test -n "$absent"; then
        skip "$header compiles alone" "no $absent here"
        continue
    fi
    in_c="$in_c $header"
    case $header in
    src/common/err.h|src/common/rng.h|kernels/*) in_cxx="$in_cxx $header" ;;
    esac
done
# shellcheck disable=SC2086 # CC and CXX may hold options
{
    compile "$in_c" ${CC:-cc} -std=gnu11 -include config.h -x c
    compile "$in_cxx" ${CXX:-c++} -std=c++20 -x c++
}
done_testing
