#!/bin/sh
# gdata gather and ngram: what they read, leave out and predict.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
is() {          # is NAME WANT GOT
    n=$((n + 1))
    if test "$2" = "$3"; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        printf 'want %s\ngot  %s\n' "$2" "$3" | sed 's/^/# /'
    fi
}
has() {         # has NAME FILE FIXED-STRING
    n=$((n + 1))
    if grep -qF -- "$3" "$2"; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$2" | head -20
    fi
}
long() {        # a paragraph of about 400 bytes about $1
    for i in 1 2 3 4 5 6 7 8 9; do
        printf 'Sentence %d tells something new about %s, it is hoped.\n' $i "$1"
    done
}

mkdir -p root/usr/share/man/man1 root/usr/share/doc/x root/usr/include \
    root/usr/share/common-licenses
{
    cat <<'END'
.\" a comment
.TH X 1
.SH NAME
x \- do \fIthings\fP
.SH DESCRIPTION
.BR x (1)
says \(lqhello\(rq.
.PP
END
    long manuals
    echo '.TS'
    echo 'a table'
    echo '.TE'
} | gzip >root/usr/share/man/man1/x.1.gz
{ long licences; echo; long licences; echo; long more; } \
    >root/usr/share/common-licenses/GPL-9
{ echo '/* header */'; long headers; printf '\\\t"quoted"\n'; } \
    >root/usr/include/x.h
{ long binary; printf 'a\000b'; } >root/usr/include/binary.h
echo short >root/usr/include/short.h
long changes >root/usr/share/doc/x/changelog

gdata gather --root root -o out --val 0.3 --tsv >table 2>words
is "gather succeeds" 0 $?
cat out/train.jsonl out/val.jsonl >all
is "one document a file with text" 3 "$(wc -l <all)"
has "a manual without markup" all 'x - do things\n\nDESC'
has "fonts, quotes, filled lines" all 'x(1) says \"hello\".\n\nSentence 1'
has "escapes of JSON" all '\\\t\"quoted\"\n'
has "where it is from" all '"source":"/usr/share/man/man1/x.1.gz"}'
is "no table, binary, change log" 0 \
    "$(grep -cE 'a table|binary|changes' all)"
is "a paragraph that comes again is left out" 1 \
    "$(grep -o 'Sentence 1 tells something new about licences' all | wc -l)"
has "a row of the table" table "licences	1	1	"

gdata gather -q --root root -o out2 --val 0.3 >/dev/null
is "the same files give the same corpus" "$(cat out/*)" "$(cat out2/*)"
gdata gather -q --root root -o out3 --val 0 --size 1 >/dev/null
is "--size limits it" 1 "$(wc -l <out3/train.jsonl)"
is "--val 0 holds nothing out" 0 "$(wc -c <out3/val.jsonl)"
mkdir nothing
gdata gather --root nothing -o out4 2>words
is "nothing found is status 3" 3 $?
is "and leaves no file behind" 0 "$(find out4 -type f | wc -l)"

# a text of two letters in turn: after the first there is no doubt
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "ab" }' >ab.txt
is "a trigram knows what comes next" "0.00" \
    "$(gdata ngram --train ab.txt --val ab.txt | cut -c1-4)"
is "a unigram does not" "1.00" \
    "$(gdata ngram -n 1 --train ab.txt --val ab.txt | cut -c1-4)"
printf '' >empty.txt
gdata ngram --train ab.txt --val empty.txt 2>words
is "no text to predict is an error" 1 $?
gdata ngram --train nowhere --val ab.txt 2>words
is "no such file is status 3" 3 $?
gdata ngram --train ab.txt 2>words
is "an option that is missing is status 2" 2 $?
echo "1..$n"
