# shellcheck shell=sh disable=SC2034
# What the tests of gtrack share: a folder of their own, TAP.
top=$(cd "${top_srcdir:-..}" && pwd)
tab=$(printf '\t')
n=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset GTRACK_ROOT NO_COLOR CLICOLOR_FORCE COLUMNS WANDB_BASE_URL
export LC_ALL=C.UTF-8 HOME="$dir"

ok() {          # ok NAME: was the command before it right?
    r=$?
    n=$((n + 1))
    if test $r = 0; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        tail -n 20 out err log 2>/dev/null | sed 's/^/# /'
    fi
}

skip() {        # skip NAME WHY
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

g() {           # run gtrack, keep what it says
    gtrack "$@" >out 2>err
}

is() {          # is FILE TEXT: the file holds exactly this
    printf '%s\n' "$2" | cmp -s - "$1"
}
