#!/bin/sh
# gdata clean keeps the documents that datatrove's filters keep, with the words
# of both being what white space separates.  Part of `make check-peers`; skipped
# without datatrove.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" ||
    skip_all "make check-peers asks the peers"
"$python" -c 'import datatrove, regex' 2>/dev/null ||
    skip_all "no datatrove and regex in $python; set GT_PYTHON"
clean=$top/t/peers/clean.py

"$python" -B "$clean" make docs.jsonl 2>err
ok $? "texts are made at each threshold"
"$python" -c 'import ahocorasick, fasteners, tldextract' 2>/dev/null &&
    lists="domains urls"
for set in words ${lists:-} c4 c4_open gopher repetition fineweb gram_2 gram_3 \
    gram_4 gram_5 gram_6 gram_7 gram_8 gram_9 gram_10; do
    # the section of this name, or a rule
    awk -v s="[${set%_*}]" 'FNR == 1 { on = 0 } /^\[/ { on = $0 == s } on' \
        "$top/conf/clean-gopher.ini" "$top/conf/clean-fineweb.ini" \
        "$top/conf/clean-c4.ini" >"$set.ini"
    if [ $set = c4_open ]; then
        sed -i -e '/citations\|marks/d' -e 's/words_min = 3/words_min = 5/' \
            -e 's/sentences_min = 5/sentences_min = 3/' $set.ini
    fi
    if [ "$set" != "${set#gram_}" ]; then
        echo "[repetition]" >"$set.ini"
        grep "_${set#gram_}_gram" "$top/conf/clean-gopher.ini" >>"$set.ini"
    fi
    case $set in words | domains | urls)
        printf '[lists]\n%s = %s.txt\n' "$set" "$set" >"$set.ini" ;;
    esac
    "$python" -B "$clean" filter $set docs.jsonl theirs 2>err &&
        gdata clean -q --rules "$set.ini" -o ours docs.jsonl >counts 2>err &&
        "$python" -B "$clean" compare theirs ours >different 2>err
    ok $? "$set: $(wc -l <docs.jsonl) documents are kept and dropped as there"
    cut -d' ' -f2 theirs.why | grep -v 'badwords\|domain\|blacklisted' >>reasons
done
# what each filter of datatrove can say, except of empty texts
is "$(sort -u reasons | tr '\n' ' ')" "char_dup_ratio curly_bracket \
dup_line_char_frac dup_line_frac dup_para_char_frac dup_para_frac \
duplicated_10_n_grams duplicated_5_n_grams duplicated_6_n_grams \
duplicated_7_n_grams duplicated_8_n_grams duplicated_9_n_grams \
gopher_above_avg_threshold gopher_below_alpha_threshold \
gopher_below_avg_threshold gopher_enough_stop_words gopher_long_doc \
gopher_short_doc gopher_too_many_bullets gopher_too_many_ellipsis \
gopher_too_many_end_ellipsis gopher_too_many_hashes kept line_punct_ratio \
list_ratio lorem_ipsum short_line_ratio too_few_sentences top_2_gram top_3_gram top_4_gram " "each rule drops some of these documents"
done_testing
