#!/bin/sh
# HACKING says how many files change when something is added.  For each number
# there is a patch, add-NAME.patch, that adds a dummy with its manual and its
# test.  GT_LONG applies them all, and builds and tests the result.
. "$(dirname "$0")/../lib/tap.sh"
command -v patch >/dev/null || skip_all "no patch"
patches=$top/t/source

# The number that HACKING gives for NAME; of two, the first or the second.
# "and its cases" is one file more.
count_of() { # NAME [POSITION]
    sed -n "s/^an* $1 (\([^)]*\)).*/\1/p" "$top/HACKING" |
        awk -v n="${2:-1}" '{
            more = sub(/, and its cases/, "")
            gsub(/or/, "")
            print $n + more
        }'
}

try() { # PATCH WHAT NAME [POSITION]
    file=$patches/add-$1.patch
    check "$2 can be added as add-$1.patch does" \
        patch -d "$top" -p1 --dry-run --batch --input="$file"
    is "$(grep -c '^+++ ' "$file")" "$(count_of "$3" "${4:-1}")" \
        "$2 is as many files as HACKING says"
}

try operation "an operation" operation
try setting "a setting" setting
try position "a positional scheme" "positional scheme"
try command "a command" command
try figure-row "a figure of one panel" figure
try figure-file "a figure of its own" figure 2

if test -z "${GT_LONG:-}"; then
    skip "what the patches add builds and passes its tests" \
        "make check-long builds it"
    done_testing
    exit
fi
unset MAKEFLAGS MFLAGS
build_all() {
    git -C "$top" archive HEAD | tar xf - || return
    for file in "$patches"/add-*.patch; do
        patch -s -p1 --batch --input="$file" || return
    done
    tests=$(cat "$patches"/add-*.patch | sed -n 's|^+++ b/\(t/.*\.t\)$|\1|p')
    chmod +x t/*/*.t
    autoreconf -fi && mkdir build && cd build &&
        ../configure --enable-werror --without-cuda && make &&
        make t/lib/mkruns t/unit/kernels.t t/cuda/kernels_emu.t &&
        env -u top_builddir -u GT_LONG \
            prove t/unit/kernels.t t/cuda/kernels_emu.t $(printf ' ../%s' $tests)
}
check "what the patches add builds and passes its tests" build_all
done_testing
