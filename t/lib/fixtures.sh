# fixtures.sh - what several shell tests start from; sourced after tap.sh
#
#   rhythm N            print N tokens below 31, as raw uint16, in a rhythm that
#                       can be learnt
#   g ARGUMENT...       run gtrack; its output goes to the files out and err
#   holds FILE TEXT     succeed when FILE holds exactly TEXT and a newline
#   await_file FILE     wait until FILE has content, ten seconds at most

# shellcheck shell=sh
rhythm() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
        printf "%c%c", (i * i + int(i / 7)) % 31 + 1, 0 }' |
        LC_ALL=C tr '\001-\037' '\000-\036'
}

g() {
    gtrack "$@" >out 2>err
}

holds() {
    printf '%s\n' "$2" | cmp -s - "$1"
}

await_file() {
    perl -e 'for (1 .. 500) { exit 0 if -s $ARGV[0];
        select undef, undef, undef, .02 } exit 1' "$1"
}
