# tap.sh - results, a fresh folder and an environment for every shell test
#
#       . "$(dirname "$0")/../lib/tap.sh"
#
#       gdata info x.bin >out 2>err
#       is $? 3 "gdata info of a missing file exits with status 3"
#       like err "x.bin" "the message names the file"
#       done_testing
#
#   ok STATUS NAME [DETAILS]    passes when STATUS is 0
#   is GOT WANTED NAME          passes when the two texts are equal
#   like FILE PATTERN NAME      passes when a line of FILE matches PATTERN
#   unlike FILE PATTERN NAME    passes when no line of FILE matches PATTERN
#   check NAME COMMAND...       passes when COMMAND succeeds; its output goes
#                               to the files out and err
#   show_commands               from here on, `ok` shows the last commands before
#                               a failure, and so which part of a chain of &&
#                               has failed; not for a test that redirects the
#                               standard error of its own functions
#   skip NAME WHY               counts a test that cannot run here
#   skip_all WHY                ends a test file that cannot run here
#   thorough                    is this `make check-all` or `make check-long`,
#                               which have the emulated GPU?
#   takes_minutes               ends a test file that only these run
#   repeats FEW MANY            prints MANY in these, and FEW in `make check`
#   done_testing                prints the plan; the last line of every test
#
# A test that fails shows DETAILS, or else the ends of the files out, err and
# log.  PATTERN is a basic regular expression.
#
# The test runs in a fresh folder, $dir, which is also its home and is removed
# at the end.  $top is the source and $build the build, whose programs come
# first in PATH.  $testdata is a folder of files that are not ours to ship; it
# may be missing.  $tab is a tab.  The environment of the user does not change
# what the programs print.

# shellcheck shell=sh disable=SC2034
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
testdata=$(cd "${GT_TESTDATA:-$top/../shared/data}" 2>/dev/null && pwd) ||
    testdata=/nonexistent
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
PATH=$build:$PATH
tab=$(printf '\t')
unset COLUMNS LINES NO_COLOR CLICOLOR_FORCE COLORTERM COLORFGBG TERM_PROGRAM \
    KITTY_WINDOW_ID GTRACK_ROOT XDG_CONFIG_HOME WANDB_BASE_URL
export PATH HOME="$dir" XDG_CACHE_HOME="$dir/cache" GTRACK_CACHE="" \
    GTRACK_ALERTS="" LC_ALL=C.UTF-8 TZ=UTC
tests_run=0 tests_failed=0 shown_commands=/dev/null

ok() {
    tests_run=$((tests_run + 1))
    if test "$1" = 0; then
        echo "ok $tests_run - $2"
        : >"$shown_commands"
        return
    fi
    tests_failed=$((tests_failed + 1))
    echo "not ok $tests_run - $2"
    if test -n "${3-}"; then
        printf '%s\n' "$3"
    else
        sed '/^+ ok [0-9]/,$d; /^+ :$/d; /^+ return$/d' "$shown_commands" | tail -n 5
        tail -n 20 out err log 2>/dev/null
    fi | sed 's/^/# /'
    : >"$shown_commands"
}

# The shell writes its commands, with the values of variables, to its standard
# error; each result begins the file anew.
show_commands() {
    shown_commands=$dir/.commands
    exec 2>>"$shown_commands"
    set -x
}

is() {
    if test "$1" = "$2"; then
        ok 0 "$3"
    else
        ok 1 "$3" "got:    $1
wanted: $2
$(tail -n 5 err log 2>/dev/null)"
    fi
}

like() {
    if grep -q -e "$2" "$1"; then
        ok 0 "$3"
    else
        ok 1 "$3" "no line of $1 matches '$2':
$(tail -n 20 "$1")"
    fi
}

unlike() {
    found_lines=$(grep -e "$2" "$1")
    test $? = 1
    ok $? "$3" "$found_lines"
}

check() {
    check_name=$1
    shift
    "$@" >out 2>err
    ok $? "$check_name"
}

skip() {
    tests_run=$((tests_run + 1))
    echo "ok $tests_run - $1 # SKIP $2"
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

thorough() {
    test "${GT_ALL:-}${GT_LONG:-}${GT_TRAIN:-}"
}

takes_minutes() {
    thorough || skip_all "make check-all runs this"
}

repeats() {
    if thorough; then
        echo "$2"
    else
        echo "$1"
    fi
}

done_testing() {
    echo "1..$tests_run"
    test "$tests_failed" = 0
}
