# shellcheck shell=sh
# What the tests of gplot share: a store, a folder of their own, TAP.
top=${top_srcdir:-..}
build=${top_builddir:-.}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
export GTRACK_ROOT="$dir/runs" LC_ALL=C.UTF-8 TZ=UTC
unset COLUMNS LINES NO_COLOR TERM_PROGRAM KITTY_WINDOW_ID COLORFGBG COLORTERM
PATH=$(cd "$build" && pwd):$PATH
n=0

make_store() {
    "$build/t/lib/mkruns" "$GTRACK_ROOT" "$@" ||
        { echo "Bail out! mkruns failed"; exit 1; }
}

result() {      # RC NAME
    n=$((n + 1))
    if test "$1" -eq 0; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
    fi
}

status() {      # GOT WANTED NAME
    test "$1" -eq "$2"
    result $? "$3"
    if test "$1" -ne "$2"; then
        echo "# status $1, not $2"
        test -s "$dir/out" && sed 's/^/# /' "$dir/out"
    fi
}

is() {          # GOT WANTED NAME
    test "$1" = "$2"
    result $? "$3"
    test "$1" = "$2" || printf '# got    %s\n# wanted %s\n' "$1" "$2"
}

like() {        # FILE PATTERN NAME
    grep -q -e "$2" "$1"
    set -- $? "$@"
    result "$1" "$4"
    test "$1" -eq 0 || { echo "# no '$3' in"; head -n 20 "$2" | sed 's/^/# /'; }
}

unlike() {      # FILE PATTERN NAME
    ! grep -q -e "$2" "$1"
    result $? "$3"
}

skip() {        # NAME WHY
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

skip_all() {    # WHY
    echo "1..0 # SKIP $1"
    exit 0
}

done_testing() {
    echo "1..$n"
}

# Width and height of a PNG, from its header.
png_size() {
    od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'
}
