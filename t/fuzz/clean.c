/*
 * clean - a document and all the rules that may drop, cut or change it
 */
#include "config.h"
#include "data/corpus/clean.h"

#include <stdlib.h>
#include <string.h>

#include "t/fuzz/fuzz.h"

/* Limits that drop little, so that most rules are asked; those of sequences are
 * low, because what is far below the limit is not compared. */
static const char rules_text[] = "[gopher]\nwords_max = 1e9\n"
                                 "[repetition]\nparagraphs_max = 9\n"
                                 "top_2_gram_max = 0.5\n"
                                 "repeated_5_grams_max = 0.1\n"
                                 "[c4]\nline_citations_max = 0\n"
                                 "line_word_length_max = 1000\n"
                                 "line_policies_max = 0\nsentences_min = 0\n"
                                 "[fineweb]\nshort_lines_max = 9\n"
                                 "[personal]\nemails = replace\n"
                                 "ip_addresses = replace\n"
                                 "phone_numbers = replace\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct clean rules;
    static bool loaded;
    int64_t count[CLEAN_RULES] = { 0 };
    char *copy = malloc(n ? n : 1); /* so that the sanitizer sees one more */
    struct corpus_doc d = {
        .text = copy, .len = n, .begins = true, .ends = true
    };
    struct err e = { 0 };
    double value;
    char path[32];

    if (!loaded) {
        fuzz_file((const uint8_t *)rules_text, strlen(rules_text), path);
        FUZZ_CHECK(clean_load(&rules, path, &e) == 0);
        loaded = true;
    }
    memcpy(copy, data, n);
    if (clean_test(&rules, &d, &value, count) < 0 && d.text == copy)
        FUZZ_CHECK(d.len == n && count[CLEAN_EMAILS] + count[CLEAN_IPS] == 0);
    free(copy);
    return 0;
}
