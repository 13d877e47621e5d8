#!/bin/sh
# A writer that is killed at any system call leaves a store that MLflow reads:
# no metric, parameter or tag is an empty file.  The next attempt leaves nothing
# of the killed one behind.
test "${GT_ALL:-}${GT_LONG:-}" || {
    echo "1..0 # SKIP make check-all runs this"
    exit 0
}
GTRACK_CACHE=
export GTRACK_CACHE
build=${top_builddir:-.}/t/lib
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

if ! test -x "$build/store_tool" || ! test -x "$build/disturb"; then
    echo "Bail out! t/lib/store_tool is not built; run make check TESTS="
    exit 1
fi
"$build/disturb" -n 1 true
test $? = 137 || {
    echo "1..0 # SKIP no right to supervise system calls"
    exit 0
}

# `watched` counts the kills that left a store to look at
when=0 watched=0 problem= left=
while :; do
    when=$((when + 1))
    rm -rf "$dir/s"
    "$build/disturb" -n $when "$build/store_tool" write "$dir/s" 3 \
        >"$dir/out" 2>"$dir/err"
    status=$?
    test $status -ne 0 || break
    if test $status -ne 137; then
        problem="$problem
call $when: status $status: $(cat "$dir/err")"
        break
    fi
    test -d "$dir/s" || continue
    watched=$((watched + 1))
    empty=$(find "$dir/s" -path '*/[0-9a-f]*/metrics/*' -type f -empty)
    test -z "$empty" || problem="$problem
call $when: empty: $empty"
    "$build/store_tool" check "$dir/s" >"$dir/check" 2>&1 || problem="$problem
call $when: $(cat "$dir/check")"
    "$build/../../gtrack" -r "$dir/s" fsck >"$dir/check" 2>&1 ||
        left="$left
call $when, before the next attempt: $(cat "$dir/check")"
    "$build/store_tool" resume "$dir/s" 3 >"$dir/out" 2>"$dir/err" || continue
    "$build/../../gtrack" -r "$dir/s" fsck >"$dir/check" 2>&1 || left="$left
call $when: $(cat "$dir/check")"
done
echo 1..3
if test -z "$problem"; then
    echo "ok 1 - a writer killed at any system call leaves a whole store"
else
    echo "not ok 1 - a writer killed at any system call leaves a whole store"
    echo "$problem" | head -n 40 | sed 's/^/# /'
fi
echo "# killed at $watched calls after the store was there, of $when"
if test $watched -gt 100; then
    echo "ok 2 - more than a hundred moments were tried"
else
    echo "not ok 2 - more than a hundred moments were tried"
fi
if test -z "$left"; then
    echo "ok 3 - fsck finds no damage after a kill and after the next attempt"
else
    echo "not ok 3 - fsck finds no damage after a kill and after the next attempt"
    echo "$left" | head -n 40 | sed 's/^/# /'
fi
