#!/bin/sh
# The sources keep the rules that a script can check.
top=${top_srcdir:-$(dirname "$0")/..}
echo 1..2
if bad=$("$top"/scripts/style "$top"); then
    echo "ok 1 - the sources keep the style"
else
    echo "not ok 1 - the sources keep the style"
    echo "$bad" | sed 's/^/# /'
fi

# and the check itself notices a breach
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/src" "$dir/kernels" "$dir/t" "$dir/bench"
echo 'int f(void) { return atoi("1"); }' >"$dir/src/x.c"
if "$top"/scripts/style "$dir" >/dev/null; then
    echo "not ok 2 - a breach is found"
else
    echo "ok 2 - a breach is found"
fi
