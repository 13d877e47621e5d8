# fixtures.sh - what several shell tests start from; sourced after tap.sh
#
#   rhythm N        print N tokens below 31, as raw uint16, in a rhythm that can
#                   be learnt

# shellcheck shell=sh
rhythm() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
        printf "%c%c", (i * i + int(i / 7)) % 31 + 1, 0 }' |
        LC_ALL=C tr '\001-\037' '\000-\036'
}
