# fixtures.sh - what several shell tests start from; sourced after tap.sh
#
#   rhythm N            print N tokens below 31, as raw uint16, in a rhythm that
#                       can be learnt
#   g ARGUMENT...       run gtrack; its output goes to the files out and err
#   holds FILE TEXT     succeed when FILE holds exactly TEXT and a newline
#   await_file FILE     wait until FILE has content, ten seconds at most
#   make_store KIND...  make runs of these kinds (see mkruns.c) in a store that
#                       gtrack and gplot find
#   png_size FILE       print the width and the height of a PNG

# shellcheck shell=sh disable=SC2154
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

make_store() {
    export GTRACK_ROOT="$dir/runs"
    "$build/t/lib/mkruns" "$GTRACK_ROOT" "$@" || {
        echo "Bail out! mkruns failed"
        exit 1
    }
}

png_size() {
    od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'
}
