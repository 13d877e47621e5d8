#!/bin/sh
# Each program's option tables and its manual tell the same, and --help works.
. "$(dirname "$0")/../lib/tap.sh"
for page in "$top"/man/*.1; do
    prog=${page##*/}
    prog=${prog%.1}
    test -x "$build/$prog" || continue
    "$prog" --dump-options >table ||
        { ok 1 "$prog prints its options with --dump-options"; continue; }

    # every long option of the table is in the manual
    cut -d"$tab" -f3 table | grep . | LC_ALL=C sort -u >parsed
    grep -oE '(Fl Fl|Fl -|,Fl Fl)[ ]?[a-z0-9][a-z0-9-]*' "$page" |
        sed 's/.* //; s/^-*//' | LC_ALL=C sort -u >manual
    test -s parsed && test -s manual
    ok $? "$prog and its manual have options"
    is "$(LC_ALL=C comm -23 parsed manual)" "" \
        "every option of $prog is in its manual"

    # and each that the manual marks up is parsed, here or by another of ours
    cat /dev/null >all
    for other in gtrain gdata gtrack gplot; do
        test -x "$build/$other" &&
            "$other" --dump-options | cut -d"$tab" -f3 >>all
    done
    is "$(LC_ALL=C sort -u all | LC_ALL=C comm -13 - manual)" "" \
        "every option in $prog.1 is parsed"

    # every command is in the manual, and has a help text that works
    bad=
    for cmd in $(cut -d"$tab" -f1 table | grep . | uniq); do
        grep -qE "^\.(It|Ss|Nm|Ic|Cm|Sx).*\\<$cmd\\>" "$page" ||
            bad="$bad$cmd is not in $prog.1
"
        "$prog" "$cmd" --help >help 2>&1 ||
            bad="$bad$prog $cmd --help fails
"
        test "$(wc -L <help)" -le 80 ||
            bad="$bad$prog $cmd --help is wider than 80 columns
"
    done
    is "$bad" "" "every command of $prog is in its manual and has a help text"

    # and options may stand before it, their arguments with them, but for
    # those that take one in some commands only
    awk -F"$tab" '$3 != "" { has[$3, $4 != ""]; name[$3] }
        END { for (n in name) if ((n, 0) in has && (n, 1) in has) print n }' \
        table >both
    bad=
    for cmd in $(cut -d"$tab" -f1 table | grep . | uniq); do
        "$prog" "$cmd" --help >help 2>&1
        for opt in $(awk -F"$tab" -v cmd="$cmd" '
            FILENAME == "both" { both[$1]; next }
            $1 == cmd && $3 != "" && $3 != "help" && !($3 in both) {
                print "--" $3; split($6, word, "|")
                if ($4 != "") print $6 != "" ? word[1] \
                    : $4 == "size" ? "1G" : "1" }' \
            both table); do
            set -- "$@" "$opt"
        done
        "$prog" "$@" "$cmd" --help 2>&1 | cmp -s - help ||
            bad="$bad$prog $* $cmd fails
"
        set --
    done
    is "$bad" "" "options of $prog may stand before the command"

    # --help without a command is about the program, whatever stands beside it
    "$prog" --help >help 2>&1
    bad=
    for opt in $(awk -F"$tab" 'FILENAME == "both" { both[$1]; next }
        $1 != "" && $3 != "" && !($3 in both) && !seen[$3]++ {
            print "--" $3 ($4 != "" ? "=1" : "") }' both table); do
        "$prog" "$opt" --help 2>&1 | cmp -s - help &&
            "$prog" --help "$opt" 2>&1 | cmp -s - help ||
            bad="$bad$opt "
    done
    is "$bad" "" "$prog --help works before and after options of commands"
    "$prog" --no-such-option --help >/dev/null 2>err
    test $? -eq 2 && grep -q "unknown option --no-such-option" err
    ok $? "$prog refuses an unknown option before --help"

    "$prog" --help >/dev/full 2>/dev/null
    is $? 1 "$prog fails when it cannot write its help text"
    "$prog" --no-such-option >/dev/null 2>err
    test $? -eq 2 && test "$(wc -l <err)" -eq 1
    ok $? "$prog refuses an unknown option in one line"
done
done_testing
