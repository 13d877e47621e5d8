#!/bin/sh
# gdata dedup in parts: the bytes are those of one job.
. "$(dirname "$0")/../lib/tap.sh"
show_commands

# Documents in nine files, of which some are equal, similar or without words,
# within files and in several; one file is empty.
mkdir files
awk '
    function word() {
        state = (state * 1103515245 + 12345) % 2147483648
        return "w" int(state / 65536) % 3000
    }
    function draw(n) { word(); return int(state / 65536) % n }
    BEGIN {
        for (f = 1; f <= 9; f++) {
            file = "files/" f ".jsonl"
            printf "" >file
            for (i = f == 4 ? 0 : 60 + 13 * f; i > 0; i--) {
                kind = n ? draw(20) : 19
                if (kind < 3)
                    text = old[draw(n)]
                else if (kind < 8) {
                    text = old[draw(n)]
                    sub(/w[0-9]+ /, word() " ", text)
                } else if (kind == 8)
                    text = draw(2) ? "" : "... " draw(2) "!"
                else {
                    text = ""
                    for (k = draw(80); k >= 0; k--)
                        text = text word() " "
                }
                old[n++] = text
                printf "{\"text\":\"%s\",\"id\":%d}\n", text, n >file
            }
        }
    }'
# --- without --near
gdata dedup -q -o want.jsonl files
test "$(cat files/*.jsonl | wc -l)" -gt $(($(wc -l <want.jsonl) + 50))
ok $? "the files have duplicates"
for parts in 1 2 3 7; do
    list=
    for i in $(seq $parts); do
        gdata dedup -q --part "$i/$parts" -o "$i.jsonl" files || break 2
        list="$list $i.jsonl"
    done
    gdata dedup -q -o out.jsonl $list && cmp out.jsonl want.jsonl
    ok $? "dedup of what it wrote for $parts parts is what one job writes"
done

done_testing
