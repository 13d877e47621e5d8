# tap.sh - what the shell tests share; sourced.
#
#   result STATUS NAME [OUTPUT]     a test that is good when STATUS is 0; when
#                                   not, OUTPUT is shown, or the ends of the
#                                   files that `shown` names
#   rhythm N                        N tokens below 31, as raw uint16, in a
#                                   rhythm that can be learnt

# shellcheck shell=sh
n=0
shown=
result() {
    n=$((n + 1))
    if test "$1" = 0; then
        echo "ok $n - $2"
        return
    fi
    echo "not ok $n - $2"
    if test -n "${3-}"; then
        printf '%s\n' "$3"
    else
        # shellcheck disable=SC2086 # a list of files
        tail -n 20 ${shown:-/dev/null}
    fi | sed 's/^/# /'
}

rhythm() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
        printf "%c%c", (i * i + int(i / 7)) % 31 + 1, 0 }' |
        LC_ALL=C tr '\001-\037' '\000-\036'
}
