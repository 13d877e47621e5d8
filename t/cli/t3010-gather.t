#!/bin/sh
# gdata gather and ngram: what they read, leave out and predict.
. "$(dirname "$0")/../lib/tap.sh"
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

gdata gather --root root -o corpus --val 0.3 --tsv >table 2>err
is $? 0 "gather of a folder tree succeeds"
cat corpus/train.jsonl corpus/val.jsonl >all
is "$(wc -l <all)" 3 "gather writes a document for each file with text"
check "gather removes the markup of manuals" \
    grep -qF 'x - do things\n\nDESC' all
check "gather handles fonts, quotes and filled lines of manuals" \
    grep -qF 'x(1) says \"hello\".\n\nSentence 1' all
check "gather escapes special characters in JSON" \
    grep -qF '\\\t\"quoted\"\n' all
check "gather records the source of a document" \
    grep -qF '"source":"/usr/share/man/man1/x.1.gz"}' all
is "$(grep -cE 'a table|binary|changes' all)" 0 \
    "gather leaves out tables, binaries and change logs"
is "$(grep -o 'Sentence 1 tells something new about licences' all | wc -l)" 1 \
    "gather leaves out a repeated paragraph"
check "gather prints a table with a row for licences" \
    grep -qF "licences	1	1	" table

gdata gather -q --root root -o out2 --val 0.3 >/dev/null
is "$(cat out2/*)" "$(cat corpus/*)" "gather of equal files gives equal corpora"
gdata gather -q --root root -o out3 --val 0 --size 1 >/dev/null
is "$(wc -l <out3/train.jsonl)" 1 "gather --size limits the corpus"
is "$(wc -c <out3/val.jsonl)" 0 "gather --val 0 holds nothing out"
mkdir nothing
gdata gather --root nothing -o out4 2>err
is $? 3 "gather ends with status 3 when it finds nothing"
is "$(find out4 -type f | wc -l)" 0 \
    "gather leaves no file when it finds nothing"

# a text of two letters in turn: after the first there is no doubt
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "ab" }' >ab.txt
is "$(gdata ngram --train ab.txt --val ab.txt | cut -c1-4)" "0.00" \
    "a trigram knows what comes next"
is "$(gdata ngram -n 1 --train ab.txt --val ab.txt | cut -c1-4)" "1.00" \
    "a unigram does not know what comes next"
printf '' >empty.txt
gdata ngram --train ab.txt --val empty.txt 2>err
is $? 1 "ngram without text to predict is an error"
gdata ngram --train nowhere --val ab.txt 2>err
is $? 3 "ngram of a missing file ends with status 3"
gdata ngram --train ab.txt 2>err
is $? 2 "ngram without --val ends with status 2"
done_testing
