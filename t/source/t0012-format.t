#!/bin/sh
# The sources are as .clang-format says.
. "$(dirname "$0")/../lib/tap.sh"

# Each version of clang-format breaks some lines differently.
clang_format=$(command -v clang-format-14 || command -v clang-format) ||
    skip_all "no clang-format"
"$clang_format" --version | grep -q 'version 14\.' ||
    skip_all "clang-format is not version 14"

# Print what clang-format would change below a folder, generated tables aside.
check_format() {
    find "$1/src" "$1/kernels" "$1/t" "$1/bench" -name '*.[ch]' \
        -o -name '*.cu' -o -name '*.cuh' |
        xargs grep -L 'Made by scripts/' |
        xargs "$clang_format" --style="file:$top/.clang-format" \
            --dry-run -Werror --ferror-limit=1
}

check "clang-format would change no line" check_format "$top"

mkdir src kernels t bench
printf '/* Made by scripts/x */\nint  x;\n' >src/x.c
printf 'int y(void)\n{\n    return 1;\n}\n' >src/y.c
check "a generated table is left out" check_format .
printf 'int  z;\n' >bench/z.cu
! check_format . >out 2>err
ok $? "a line that clang-format would change is an error"
like err "bench/z.cu:1:4: error" "the message names that line"
done_testing
