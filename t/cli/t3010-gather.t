#!/bin/sh
# gdata gather: what it reads and leaves out.
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
    root/usr/share/common-licenses root/usr/lib/aarch64/perl/5.40
long manuals | gzip >root/usr/share/man/man1/x.1.gz
{ printf 'It says.   \t\n\n\n\n'; long documentation; } | gzip \
    >root/usr/share/doc/x/README.Debian.gz
{ echo '=head1 NAME'; echo; long modules; } \
    >root/usr/lib/aarch64/perl/5.40/X.pm
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
is "$(wc -l <all)" 4 "gather writes a document for each file with text"
check "gather reads compressed documentation" \
    grep -qF '"text":"It says.\n\nSentence 1 tells' all
check "gather reads the modules of Perl of any machine" \
    grep -qF '=head1 NAME\n\nSentence 1 tells something new about mod' all
check "gather escapes special characters in JSON" \
    grep -qF '\\\t\"quoted\"\n' all
check "gather records the source of a document" \
    grep -qF '"source":"/usr/share/doc/x/README.Debian.gz"}' all
is "$(grep -cE 'manuals|binary|changes' all)" 0 \
    "gather leaves out manuals, binaries and change logs"
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

done_testing
