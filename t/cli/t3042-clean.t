#!/bin/sh
# clean keeps documents by the rules in a file.
. "$(dirname "$0")/../lib/tap.sh"

# words N [WORD]: N words in a line
words() { awk -v n="$1" -v w="${2:-wordy}" 'BEGIN {
    for (i = 0; i < n; i++)
        printf "%s%s", i ? " " : "", w == "each" ? sprintf("w%05d", i) : w }'; }
# kept SETTING TEXT: does the rule keep a text?  \n in it is a newline
kept() {
    printf '[%s]\n%s\n' "${1%%.*}" "${1#*.}" >one.ini
    printf '{"text": "%s"}\n' "$2" >one.jsonl
    gdata clean -q --rules one.ini one.jsonl >one 2>err || echo failed
    if test -s one; then echo kept; else echo dropped; fi
}
# lines N TEXT OTHER: N lines of TEXT among a hundred of others
lines() { awk -v n="$1" -v a="$2" -v b="$3" 'BEGIN { for (i = 0; i < 100; i++)
    printf "%s%s", i ? "\\n" : "", i < n ? a : sprintf(b, i) }'; }

# each limit, and one below or above it
while IFS='|' read -r rule want text; do
    is "$(kept "$rule" "$(eval "$text")")" "$want" "$rule: $text is $want"
done <<'END'
length.characters_min = 5|kept|echo abcde
length.characters_min = 5|dropped|echo abcd
length.characters_max = 5|kept|echo äöüßé
length.characters_max = 5|dropped|echo äöüßéa
length.words_max = 3|kept|words 3
length.words_max = 3|dropped|words 4
gopher.words_min = default|dropped|words 49
gopher.words_min = default|kept|words 50
gopher.words_min = default|dropped|words 49; echo " -- ..."
gopher.words_max = 50|kept|words 50
gopher.words_max = 50|dropped|words 51
gopher.word_length_min = 3|kept|echo abc def
gopher.word_length_min = 3|dropped|echo abc de
gopher.word_length_max = 10|kept|echo abcdefghij abcdefghij
gopher.word_length_max = 10|dropped|echo abcdefghij abcdefghijk
gopher.hash_signs_max = default|kept|words 9; echo " a#"
gopher.hash_signs_max = default|dropped|words 9; echo " a##"
gopher.ellipses_max = default|kept|words 9; echo " a..."
gopher.ellipses_max = default|dropped|words 9; echo " a...…"
gopher.bullet_lines_max = default|kept|lines 90 "- a" "b"
gopher.bullet_lines_max = default|dropped|lines 91 "• a" "b"
gopher.ellipsis_lines_max = default|kept|lines 30 "a..." "b"
gopher.ellipsis_lines_max = default|dropped|lines 31 "a… " "b"
gopher.alphabetic_words_min = default|kept|echo a b c d 5
gopher.alphabetic_words_min = default|dropped|echo a b c d 5 6
gopher.stop_words_min = default|kept|echo the cat and dog
gopher.stop_words_min = default|dropped|echo the cat the dog
repetition.lines_max = default|kept|lines 31 "a" "b %d"
repetition.lines_max = default|dropped|lines 32 "a" "b %d"
repetition.paragraphs_max = 0.5|kept|echo "a\\\\n\\\\nb\\\\n\\\\na\\\\n\\\\na"
repetition.paragraphs_max = 0.5|dropped|echo "a\\\\n\\\\na\\\\n\\\\na"
repetition.paragraph_text_max = 0.3|dropped|echo "ab\\\\n\\\\nab"
repetition.paragraph_text_max = 0.4|kept|echo "ab\\\\n\\\\nab"
repetition.line_text_max = 0.5|kept|echo "ab\\\\nab"
repetition.line_text_max = 0.3|dropped|echo "ab\\\\nab"
fineweb.end_lines_min = default|kept|lines 12 "ends." "b"
fineweb.end_lines_min = default|dropped|lines 11 "ends。" "b"
fineweb.short_lines_max = default|kept|lines 67 "short" "a line of more than thirty letters"
fineweb.short_lines_max = default|dropped|lines 68 "a line of thirty characters:äö" "a line of more than thirty letters"
fineweb.repeated_text_max = default|kept|lines 2 "abcd" "%0400d"
fineweb.repeated_text_max = 0|dropped|lines 2 "abcd" "%0400d"
fineweb.newlines_max = default|kept|words 10; echo "\\\\n\\\\n\\\\nx"
fineweb.newlines_max = default|dropped|words 9; echo "\\\\n\\\\n\\\\n"
c4.sentences_min = default|kept|echo "One. Two? Three! Four (it is). Five"
c4.sentences_min = default|dropped|echo "One, e.g. this. Two? Three! Four."
c4.lorem_ipsum_max = default|dropped|echo "A text with Lorem Ipsum in it."
c4.lorem_ipsum_max = 1|kept|echo "A text with Lorem Ipsum in it."
c4.curly_brackets_max = default|dropped|echo "if (x) { y }"
c4.curly_brackets_max = off|kept|echo "if (x) { y }"
c4.line_words_min = default|dropped|echo "two words"
c4.line_words_min = 2|kept|echo "two words"
END

# left SETTING TEXT: what the rule leaves of a text
left() {
    printf '[c4]\n%s\n' "$1" >one.ini
    printf '{"id": 1, "text": "%s", "n": 2}\n' "$2" >one.jsonl
    gdata clean -q --rules one.ini one.jsonl 2>err | sed 's/.*"text": "\(.*\)", "n".*/\1/'
}
is "$(left 'line_end_marks_min = default' \
    'It ends.\n It does not\r\nDoes it? \nSo it ends...\n\"Yes!\"')" \
    'It ends.\nDoes it?\n\"Yes!\"' "lines that end in no terminal mark are removed"
is "$(left 'line_citations_max = default' '[1] It is so.[23][edit] So? [x]')" \
    'It is so. So? [x]' "citations are removed from a line"
is "$(left 'line_javascript_max = 0' 'Enable JavaScript.\nIt is a text.')" \
    'It is a text.' "lines with the word javascript are removed"
is "$(left 'line_policies_max = 0' 'We use cookies.\nA text.\nThe Privacy Policy')" \
    'A text.' "lines about cookies and terms are removed"
is "$(left 'line_word_length_max = 5' 'These words.\nThese are it')" \
    'These are it' "lines with a long word are removed"
is "$(left 'line_words_min = 2' 'One\nOne two\n\n three four \n')" \
    'One two\nthree four' "lines of few words are removed"

# replaced TEXT: the text without e-mail addresses, IP addresses and numbers
replaced() {
    printf '{"id": 1, "text": "%s", "n": 2}\n' "$1" >one.jsonl
    gdata clean -q --rules personal.ini one.jsonl 2>err |
        sed 's/.*"text": "\(.*\)", "n".*/\1/'
}
cat >personal.ini <<'END'
[personal]
emails = replace
ip_addresses = default
phone_numbers = replace
END
while IFS='|' read -r text want; do
    is "$(replaced "$text")" "$(echo "$want" | sed 's/E/email@example.com/g
        s/I/22.214.171.124/g; s/P/|||PHONE_NUMBER|||/g')" "$text becomes $want"
done <<'END'
a@b.c|E
<Ann.Lee+x@mail.example.co.uk>.|<E>.
(a@b.c, d@e.f)|(E, E)
.a..b@c-d.e-.|.a..E-.
éa@b.c|éE
a@b|a@b
@b.c or a@ b.c|@b.c or a@ b.c
at 8.8.8.8.|at I.
8.8.8.8:80 1.2.3.4/24|I:80 I/24
version 1.2.3.4.5|version 1.2.3.4.5
..8.8.8.8.. .|..I.. .
1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1|1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1
1.2.3 1.2.3.256 01.2.3.4|1.2.3 1.2.3.256 01.2.3.4
127.0.0.1 10.1.2.3 172.31.0.1|127.0.0.1 10.1.2.3 172.31.0.1
172.32.0.1 192.168.1.1|I 192.168.1.1
call (555) 123-4567, 555.123.4567|call P, P
5551234567 or +1 555 123 4567|P or +1 P
555 1234 567|555 1234 567
55512345678 in 2012-2013 2014|55512345678 in 2012-2013 2014
END
printf '{"text": "a@b.c d@e.f"}\n{"text": "8.8.8.8 \303\251"}\n{"text": "x"}\n' \
    >one.jsonl
gdata clean -q -r personal.ini -o one.out one.jsonl >counts 2>err
is "$(cut -f1,3 counts | grep personal)" "personal.emails	2
personal.ip_addresses	1
personal.phone_numbers	0" "the table counts what is replaced"
is "$(tail -2 one.out)" "$(printf '%s\n' '{"text": "22.214.171.124 é"}' \
    '{"text": "x"}')" "other text stays as it was"
cat >both.ini <<'END'
extends = personal.ini
[c4]
line_end_marks_min = 1
END
printf '{"text": "no mark a@b.c\\n It is a@b.c."}\n' >one.jsonl
is "$(gdata clean -q -r both.ini one.jsonl)" \
    '{"text": "It is email@example.com."}' \
    "what is left of a document is replaced"

# twice N LENGTH: a sequence of N words twice, and a word of so many letters
twice() { awk -v n="$1" -v k="$2" 'BEGIN {
    for (i = 0; i < 2 * n; i++) printf "w%03d ", i % n
    while (k-- > 0) printf "x" }'; }
for n in 2 3 4 5 6 7 8 9 10; do
    if [ "$n" -lt 5 ]; then # 2 (5n - 1) of 20n - 4 characters
        rule="repetition.top_${n}_gram_max = 0.5" k=$((10 * n - 4))
    else # 4n of 16n characters
        rule="repetition.repeated_${n}_grams_max = 0.25" k=$((6 * n))
    fi
    is "$(kept "$rule" "$(twice "$n" "$k")") $(kept "$rule" "$(twice "$n" \
        $((k - 1)))")" "kept dropped" "$rule: one character decides"
done
is "$(kept "repetition.repeated_5_grams_max = 0.2" "a bc d e f ab c d e f xyz")" \
    dropped "a sequence is known by its letters, however these are divided"
is "$(kept "repetition.top_2_gram_max = 0.5" "a bc d e ab c d e xyz")" kept \
    "other words are not the most frequent sequence"

cat >three.ini <<'END'
[length]
words_min = 3
END
cat >few.jsonl <<'END'
{"id": 1, "text": "one two three", "score": [1, {"x": "é"}]}
{"id": 2, "text": "one two"}
{"id": 3, "text": "  \n\n  "}
END
gdata clean -q --rules three.ini -o few.out --keep-dropped 100% few.jsonl \
    >counts 2>err
is $? 0 "a corpus is cleaned"
is "$(cat few.out)" "$(head -1 few.jsonl)" \
    "a document that is kept keeps all of its fields"
is "$(cat few.out.dropped)" '{"rule":"length.words_min","value":2,"id": 2, "text": "one two"}
{"rule":"empty","value":0,"id": 3, "text": "  \n\n  "}' \
    "what is dropped is written with the rule and its value"
is "$(cat counts)" "rule	documents	changes
empty	1	
length.words_min	1	
kept	1	" "the table counts what each rule dropped"

# a sample of what is dropped, and any reader
awk 'BEGIN { srand(1); for (i = 0; i < 3000; i++) {
    printf "{\"id\": %d, \"text\": \"", i
    for (k = rand() * 60; k > 0; k--) {
        for (j = rand() * 30; j > 0; j--)
            printf "%s ", substr("the and to of with abcdefgh have", rand() * 30, 9)
        printf "end%s%s", rand() < 0.7 ? "." : "", rand() < 0.3 ? "\\n" : " "
    }
    print "\"}" } }' >many.jsonl
gdata clean -q --rules "$top/conf/clean-gopher.ini" -o many.out \
    --keep-dropped 0.2 many.jsonl >out 2>err
n=$(wc -l <many.out.dropped) all=$((3000 - $(wc -l <many.out)))
test "$n" -gt $((all / 10)) && test "$n" -lt $((all * 3 / 10))
ok $? "--keep-dropped writes about the share of what is dropped"
gzip -k many.jsonl
gdata clean -q --rules "$top/conf/clean-gopher.ini" many.jsonl.gz >gz 2>err
cmp -s gz many.out
ok $? "compressed input gives the same"
{ words 200000 each; printf '%%'; echo two words%; echo these are three%; } >parts.txt
gdata clean -q --rules three.ini --separator % parts.txt >out 2>err
is "$(wc -l <out)/$(sed -n '1{p;q}' out | wc -w)" 2/200000 \
    "a document of plain text is cleaned as a whole"
printf '{"text": "x\377y \377 z"}\n{"text": "q"}\n' >invalid.jsonl
gdata clean -q --rules three.ini invalid.jsonl >out 2>err
cmp -s out - <<END
$(head -1 invalid.jsonl)
END
ok $? "a document that is kept keeps its bytes"

# sample: some documents, and what a rule dropped
gdata sample -n 5 many.jsonl >some 2>err
is "$(grep -c '^==> many.jsonl:[0-9]* <==$' some) $(cat err)" \
    "5 gdata: 5 of 3,000 documents" "sample prints a few documents"
line=$(sed -n '1s/.*:\([0-9]*\) .*/\1/p' some)
is "$(sed -n 2p some | cut -c-40)" "$(sed -n "${line}p" many.jsonl |
    sed 's/.*"text": "//; s/\\n.*//' | cut -c-40)" \
    "the heading of a document has its line"
gdata sample -n 5 many.jsonl >again 2>err
cmp -s some again && gdata sample -n 5 --seed 1 many.jsonl >again 2>err &&
    ! cmp -s some again
ok $? "the seed chooses the documents"
gdata sample --dropped-by length.words_min few.out.dropped >out 2>err
is "$(cat out)" "==> few.out.dropped:1, length.words_min: 2 <==
one two" "sample shows what a rule dropped, and its value"
gdata sample --dropped-by empty --where 'id = 3' few.out.dropped >out 2>err
is "$(head -1 out)" "==> few.out.dropped:2, empty: 0 <==" \
    "a filter chooses among what a rule dropped"
gdata sample --dropped-by empty few.jsonl >out 2>err
like err 'no document has the field "rule"' \
    "a file that clean did not write is reported"
for i in $(seq 500); do echo "{\"text\": \"$i\"}"; done >five.jsonl
for s in $(seq 40); do gdata sample -q -n 25 --seed $s five.jsonl; done |
    awk '/^[0-9]/ { n++; sum += $1; late += $1 > 250 }
         END { print n, (sum / n > 230 && sum / n < 270), (late > 430 && late < 570) }' >out
is "$(cat out)" "1000 1 1" "all documents have the same chance"
printf '{"text": "a\\u001b[31mb\\tc"}\n' | gdata sample -q --input jsonl - >out 2>err
is "$(sed -n 2p out)" "$(printf 'a^[[31mb\tc')" "control characters are made visible"

# threads: the same bytes in the same order
for i in 1 2 3 4 5; do cat many.jsonl; done >more.jsonl
{ words 200000 each; printf '%%'; cat many.jsonl; printf '%%'; words 90000; } \
    >more.txt
# threaded NAME OPTION... FILE: what clean writes, prints and drops does not
# depend on the number of threads
threaded() {
    name=$1
    shift
    for n in 1 2 7; do
        gdata clean -q -j$n --keep-dropped 0.5 -o "$name.$n" "$@" \
            >"$name.$n.counts" 2>err || return 1
    done
    for n in 2 7; do
        cmp "$name.1" "$name.$n" && cmp "$name.1.counts" "$name.$n.counts" &&
            cmp "$name.1.dropped" "$name.$n.dropped" || return 1
    done
}
check "any number of threads writes the same" threaded fineweb \
    -r "$top/conf/clean-fineweb.ini" more.jsonl
test "$(wc -c <more.jsonl)" -gt 1500000
ok $? "the text has several blocks"
check "any number of threads removes the same lines" threaded c4 \
    -r "$top/conf/clean-c4.ini" more.jsonl
check "documents of several parts are the same with threads" threaded parts \
    -r three.ini --separator % more.txt
head -c 900000 more.jsonl | sed '$d' >bad.jsonl
echo '{"text": 7}' >>bad.jsonl
tail -c 900000 more.jsonl | sed 1d >>bad.jsonl
echo '{"text": 8}' >>bad.jsonl
for n in 1 7; do
    gdata clean -j$n --bad stop -r three.ini bad.jsonl >bad.$n 2>bad.$n.err
done
is "$?/$(cat bad.7.err)" "1/$(cat bad.1.err)" \
    "the first error of the input is reported"
cmp -s bad.1 bad.7 && test -s bad.1
ok $? "what comes before an error is the same"
again() {
    gdata clean -q -j3 -r three.ini -o again.want more.jsonl >out 2>err
    for at in 1 2 5; do
        echo old >again.out
        strace -f -qq -e trace=write -e inject=write:signal=KILL:when=$at \
            -o /dev/null gdata clean -q -j3 -r three.ini -o again.out \
            more.jsonl >out 2>&1
        test "$(cat again.out)" = old || return 1
    done
    gdata clean -q -j3 -r three.ini -o again.out more.jsonl >out 2>err &&
        cmp again.out again.want
}
if strace -o /dev/null true 2>/dev/null; then
    check "a killed clean leaves the old file, and begins again" again
else
    skip "a killed clean leaves the old file, and begins again" "no strace"
fi

# encode --clean: the same documents straight into shards
gopher=$top/conf/clean-gopher.ini
sed 's/end\./{ end./' many.jsonl | head -100 >c4.jsonl
gdata clean -q -r "$top/conf/clean-c4.ini" -o c4.out many.jsonl c4.jsonl >counts 2>err
ok $? "the rules of C4 clean a corpus"
like counts "c4.line_end_marks_min		[1-9]" "the table counts removed lines"
like counts "c4.sentences_min	[1-9]" "the table counts pages of few sentences"
gdata bpe -q --vocab 400 -o tok many.jsonl 2>err
# encode FOLDER [OPTION]... FILE
encode() {
    folder=$1
    shift
    gdata encode -q -T tok -o "$folder/x" --shard-tokens 20000 --val 0.1 \
        --mark-every 0 "$@" >out 2>err
}
cp many.out kept.jsonl
encode kept kept.jsonl && encode direct -j2 --clean "$gopher" many.jsonl
is $? 0 "encode leaves out what the rules drop"
for shard in kept/*.bin; do
    cmp "$shard" "direct/${shard#*/}" || echo "$shard differs"
done >out 2>&1
ok $((! ($(ls kept | wc -l) == $(ls direct | wc -l)) || $(wc -l <out))) \
    "the shards are those of the documents that clean keeps"
gdata clean -q --rules "$gopher" -o many.out many.jsonl >counts 2>err
{
    echo "clean $(sha256sum <"$gopher" | cut -d' ' -f1)"
    awk -F'\t' 'NR > 1 && $1 != "kept" { print $1, $2 }' counts
} >want
awk '$1 == "clean"; $1 == "dropped" { print $2, $4 }' direct/x.tokens.lock >got
cmp want got >out 2>&1
ok $? "the lock has the hash of the rules and what each dropped"
cp c4.out left.jsonl
encode kept4 left.jsonl && encode direct4 -j2 --clean "$top/conf/clean-c4.ini" \
    many.jsonl c4.jsonl
is $? 0 "encode removes lines by the rules of C4"
for shard in kept4/*.bin; do
    cmp "$shard" "direct4/${shard#*/}" || echo "$shard differs"
done >out 2>&1
is "$(ls kept4/*.bin | wc -l)$(cat out)" "$(ls direct4/*.bin | wc -l)" \
    "the shards have the lines that clean keeps"
gdata verify -T tok direct/x.tokens.lock >out 2>err
is $? 0 "a lock with counts is verified"
sed 's/^\(dropped [^ ]* [^ ]*\) .*/\1 7/' direct/x.tokens.lock >other.lock
gdata verify -q --against direct/x.tokens.lock other.lock --tsv >out 2>err
is "$?$(awk -F'\t' '{ print $2, $3 }' out | tail -n 1)" "1clean other rules or counts" \
    "verify --against compares what the rules dropped"
encode mixed -j2 --shuffle 7 --clean "$gopher" many.jsonl
is "$(grep -c . mixed/x.tokens.lock)/$(grep ^dropped mixed/x.tokens.lock)" \
    "$(grep -c . direct/x.tokens.lock)/$(grep ^dropped direct/x.tokens.lock)" \
    "documents that are shuffled are counted alike"
killed() {
    rm -rf broken
    for at in 1 4 9 20 45; do
        strace -f -qq -e trace=write -e inject=write:signal=KILL:when=$at \
            -o /dev/null gdata encode -q -T tok -o broken/x \
            --shard-tokens 20000 --val 0.1 --mark-every 0 -j2 \
            --clean "$gopher" many.jsonl >out 2>&1
    done
    encode broken --clean "$gopher" many.jsonl && diff -r direct broken
}
if strace -o /dev/null true 2>/dev/null; then
    check "encode --clean killed five times comes to the same shards" killed
else
    skip "encode --clean killed five times comes to the same shards" "no strace"
fi
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "a word " }' >long.txt
encode long --clean three.ini long.txt
like err "too long for --clean; gdata clean writes it as JSON Lines" \
    "a document that is read in parts is refused"
encode chat --clean three.ini --chat chatml many.jsonl
like err "chat and --clean exclude each other" "conversations are not cleaned"
mkfifo rules.pipe
cat three.ini >rules.pipe 2>/dev/null &
encode piped --clean rules.pipe many.jsonl
like err "cannot read rules.pipe: it is not a regular file" \
    "rules from a pipe, which could not be read again, are refused"
kill $! 2>/dev/null
printf '{"text": "one"}\n' >one.jsonl
encode none --clean three.ini one.jsonl
like err "there is no text that the rules keep" "nothing to keep is an error"

# bad rules
refused() {
    printf "$1" >bad.ini
    gdata clean --rules bad.ini -o never many.jsonl >out 2>err
    is $? 2 "rules are refused: $2"
    like err "$2" "the error has the place: $2"
    test ! -e never
    ok $? "rules that are refused write nothing: $2"
}
refused '[gopher]\nword_min = 50\n' \
    'bad.ini:2: unknown setting gopher.word_min; did you mean gopher.words_min?'
refused '[length]\nwords_min = -1\n' \
    "bad.ini:2: length.words_min: expected a number of 0 or more or off, not '-1'"
refused '[gopher]\nwords_min = nan\n' "bad.ini:2: gopher.words_min: expected a number"
refused '[personal]\nemails = 0\n' \
    "bad.ini:2: personal.emails: expected replace or off, not '0'"
refused '[length]\nwords_min = default\n' "bad.ini:2: length.words_min: expected a number"
gdata clean many.jsonl >out 2>err
is $? 2 "the rules must be named"
gdata clean --rules three.ini --keep-dropped 1 many.jsonl >out 2>err
like err "keep-dropped needs -o FILE" "a sample of what is dropped needs a file"
printf 'extends = three.ini\n[length]\nwords_min = off\n' >off.ini
gdata clean -q --rules off.ini parts.txt --separator % >out 2>err
is "$(wc -l <out)" 3 "a file can extend another, and switch its rules off"

# damaged input
head -c 3000 many.jsonl.gz >cut.jsonl.gz
echo old >cut.out
gdata clean -q --rules three.ini -o cut.out cut.jsonl.gz >out 2>err
is $?/"$(cat cut.out)" 1/old "after damaged input the old output is still there"
gdata clean -q --bad files --max-bad 50% --rules three.ini -o cut.out cut.jsonl.gz \
    >out 2>err
test -s cut.out
ok $? "--bad files keeps what is before the damage"
ls ./*.tmp >out 2>/dev/null
ok $((! $?)) "no temporary file is left"
done_testing
