#!/bin/sh
# clean drops documents by lists of words, domains and parts of URLs.
. "$(dirname "$0")/../lib/tap.sh"

mkdir rules
cat >rules/lists.ini <<'EOF'
[lists]
words = words.txt
domains = domains.txt
urls = urls.txt
EOF
printf '# what nobody should read\n\n  Dirty \r\nhot pocket\ns&m\n🖕\n汚い\nขยะ\nпло́хо\n' \
    >rules/words.txt
printf 'example.com\nBad.Org\nmail.test\n' >rules/domains.txt
printf 'casino\nforum.test/spam\n' >rules/urls.txt

# dropped URL TEXT: the rule, and the line of the entry
dropped() {
    printf '{"url": "%s", "text": "%s"}\n' "$1" "$2" >one.jsonl
    gdata clean -q --rules rules/lists.ini -o one.out --keep-dropped 1 \
        one.jsonl >out 2>err || echo failed
    sed -n 's/{"rule":"lists\.\([a-z]*\)","value":\([0-9]*\),.*/\1 \2/p' \
        one.out.dropped
    sed -n 's/{.*/kept/p' one.out
}
while IFS='|' read -r want url text; do
    is "$(dropped "$url" "$text")" "$want" \
        "$url${url:+, }$text: $want"
done <<'EOF'
words 3|x|It is DIRTY.
words 3|x|dirty
words 3|x|a-dirty_word
kept|x|dirtyword, overdirty and dirty2
words 4|x|One hot pocket
kept|x|hot, pocket
kept|x|One shot pocket and hot pockets
words 5|x|So S&M
kept|x|S & M
words 6|x|say 🖕!
words 7|x|これは汚い物です
words 8|x|กองขยะใหญ่
words 9|x|Это ПЛО́ХО.
kept|x|плохо
domains 1|https://example.com|a
domains 1|http://www.example.com/page?x=1|a
domains 1|http://user@a.b.EXAMPLE.com:8080/|a
kept|http://notexample.com/|a
kept|http://example.com.test/|a
kept|http://my-example.com/|a
kept|http://example.org/example.com|a
kept|http://user@test/@example.com|a
domains 2|bad.org/without/scheme|a
domains 3|http://mail.test?example.com|a
kept|http://gmail.test|a
urls 1|http://test/a-casino/page|a
urls 1|http://CASINO.test/|a
kept|http://test/casinos|a
urls 2|http://forum.test/spam/7|a
kept|http://forum.test/spammer|a
urls 2|http://www.forum.test/spam|a
EOF

# all together
cat >many.jsonl <<'EOF'
{"url": "http://example.com/1", "text": "dirty"}
{"url": "http://test/casino", "text": "dirty"}
{"url": null, "text": "dirty"}
{"text": "clean"}
{"url": "http://test/", "text": "quite\ndirty"}
{"metadata": {"url": "http://example.com/1"}, "text": "clean, too"}
EOF
gdata clean --rules rules/lists.ini -o many.out --keep-dropped 1 many.jsonl \
    >counts 2>err
is "$(cat counts)" "rule	documents	changes
empty	0	
lists.domains	1	
lists.urls	1	
lists.url_field		3
lists.words	2	
kept	2	" "the table counts what each list dropped"
gdata sample -q --dropped-by lists.words many.out.dropped >out 2>err
is "$(head -2 out)" "==> many.out.dropped:3, lists.words: 3 <==
dirty" "sample shows the line of the entry in the list"
{ cat rules/lists.ini; echo "url_field = metadata.url"; } >rules/meta.ini
gdata clean -q --rules rules/meta.ini -o meta.out many.jsonl >counts 2>err
is "$(sed -n 3p counts)" "lists.domains	1	" "the URL may be in an object"
printf 'extends = rules/lists.ini\n[lists]\nurls = off\ndomains = off\n' >less.ini
gdata clean --rules less.ini -o less.out many.jsonl >counts 2>err
is "$(cut -f1,2 counts | tr '\n\t' ' =')/$(cat err)" \
    "rule=documents empty=0 lists.words=4 kept=2 /" \
    "lists stand beside the file that names them, and can be switched off"
printf '[lists]\nwords = %s/rules/words.txt\n' "$PWD" >full.ini
gdata clean -q --rules full.ini many.jsonl >out 2>err
is "$?/$(cat out)" "0/$(cat less.out)" "a list may have an absolute path"
printf '[lists]\ndomains = rules/domains.txt\n' >domains.ini
printf 'example.com\n' >plain.txt
gdata clean -q --rules domains.ini -o plain.out plain.txt >counts 2>err
is "$?/$(grep -c . plain.out)/$(sed -n 4p counts)" "0/1/lists.url_field		1" \
    "plain text has no URL, and is kept and counted"

# lines
cat >pages.jsonl <<'EOF'
{"text": "Home | About\nThe first page has this.\n All rights reserved. "}
{"text": "Home | About\r\nThe second one.\nall rights RESERVED."}
{"text": "Home | About us\nAll rights reserved"}
{"text": "  Home | About  "}
EOF
printf 'home | about\nAll rights reserved.\nnever\n' >common.txt
printf '[lists]\nlines = common.txt\n' >lines.ini
gdata clean -q -r lines.ini -o pages.out --keep-dropped 1 pages.jsonl \
    >counts 2>err
is "$(cat pages.out)" '{"text": "The first page has this."}
{"text": "The second one."}
{"text": "Home | About us\nAll rights reserved"}' \
    "lines that are in a list are removed"
is "$(cat counts)" "rule	documents	changes
empty	0	
lists.lines		5
c4.sentences_min	1	
kept	3	" "the table counts removed lines, and documents of nothing else"
awk 'BEGIN { for (i = 0; i < 40; i++) for (k = 0; k < 500; k++)
    printf "{\"text\": \"Menu %d\\nText %d of %d.\\nFooter\"}\n", i, k, i }' \
    >site.jsonl
gdata info --top-lines -n 100000 --tsv --no-header site.jsonl |
    awk -F'\t' '$2 > 40 { print $1 }' >common.txt
is "$(sort common.txt | sed '2,40d' | tr '\n' ' ')" "Footer Menu 9 " \
    "info lists the lines that more than 40 documents have"
for n in 1 3; do
    gdata clean -q -j$n -r lines.ini -o site.$n site.jsonl >counts.$n 2>err
done
cmp site.1 site.3 && cmp counts.1 counts.3
ok $? "any number of threads removes the same lines"
is "$(sed -n '1p;$p' site.1)$(grep -c 'Menu\|Footer' site.1)" '{"text": "Text 0 of 0."}
{"text": "Text 499 of 39."}0' "the lines of many documents are gone"

# any number of threads
awk 'BEGIN { for (i = 0; i < 60000; i++)
    printf "{\"url\": \"http://%s.test/%d\", \"text\": \"%s text %d\"}\n",
        i % 7 ? "good" : "www.mail", i, i % 11 ? "good" : "dirty", i }' >big.jsonl
for n in 1 3; do
    gdata clean -q -j$n --rules rules/lists.ini -o big.$n --keep-dropped 0.5 \
        big.jsonl >counts.$n 2>err
done
cmp big.1 big.3 && cmp big.1.dropped big.3.dropped && cmp counts.1 counts.3
ok $? "any number of threads drops the same"
is "$(tail -1 counts.1)" "kept	46753	" "the lists drop what they should"

# encode --clean
gdata bpe -q --vocab 300 -o tok many.jsonl 2>err
gdata encode -q -T tok -o direct/x --clean rules/lists.ini big.jsonl >out 2>err &&
    gdata encode -q -T tok -o kept/x --input jsonl big.1 >out 2>err
cmp direct/x_000000.bin kept/x_000000.bin
ok $? "encode --clean leaves out the same"
is "$(grep '^dropped lists' direct/x.tokens.lock)" \
    "dropped lists.domains $(sha256sum <rules/domains.txt | cut -d' ' -f1) 8572
dropped lists.urls $(sha256sum <rules/urls.txt | cut -d' ' -f1) 0
dropped lists.url_field 0 0
dropped lists.words $(sha256sum <rules/words.txt | cut -d' ' -f1) 4675" \
    "the lock has the hash of each list"
if strace -o /dev/null true 2>/dev/null; then
    strace -f -qq -e trace=write -e inject=write:signal=KILL:when=9 \
        -o /dev/null gdata encode -q -T tok -o again/x --mark-every 0 \
        --clean rules/lists.ini big.jsonl >out 2>&1
    test -e again/x.state && gdata encode -T tok -o again/x --mark-every 0 \
        --clean rules/lists.ini big.jsonl >out 2>err
    like err "resum" "encode resumes with the same lists"
    cmp again/x_000000.bin direct/x_000000.bin
    ok $? "after a kill the shards are the same"
else
    skip "encode resumes with the same lists" "no strace"
    skip "after a kill the shards are the same" "no strace"
fi

# bad lists
refused() {
    gdata clean --rules rules/lists.ini -o never many.jsonl >out 2>err
    is $? "$1" "the exit status is $1: $2"
    like err "$2" "the message names the rule and the list: $2"
    test ! -e never
    ok $? "nothing is written: $2"
}
awk 'BEGIN { printf "short\n# "; for (i = 0; i < 5000; i++) printf "long"; print "" }' \
    >rules/words.txt
refused 2 "rules/lists.ini:2: lists.words: rules/words.txt:2: a line has at most 4096 bytes"
printf '# nothing\n\n' >rules/words.txt
refused 2 "rules/lists.ini:2: lists.words: rules/words.txt has no entries"
rm rules/words.txt
refused 3 "rules/lists.ini:2: lists.words: cannot read rules/words.txt: No such file"
printf '[lists]\nword = x\n' >rules/lists.ini
refused 2 "rules/lists.ini:2: unknown setting lists.word; did you mean lists.words?"
done_testing
