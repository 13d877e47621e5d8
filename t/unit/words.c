/*
 * words - counts of pieces, in memory and through temporary files
 */
#include "config.h"
#include "data/token/words.h"
#include "t/lib/tap.h"

#include <stdlib.h>
#include <string.h>

#include "common/rng.h"
#include "data/token/pretokenize.h"

enum { TEXT = 200000, COUNTERS = 3 };

static const struct word_list *sorting;

static int by_bytes(const void *x, const void *y)
{
    const struct counted *a = x, *b = y;
    const int c = memcmp(sorting->text.s + a->at, sorting->text.s + b->at,
                         a->len < b->len ? a->len : b->len);

    return c ? c : (a->len > b->len) - (a->len < b->len);
}

static void sort(struct word_list *l)
{
    sorting = l;
    qsort(l->word, l->n, sizeof *l->word, by_bytes);
}

static bool same(const struct word_list *a, const struct word_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->word[i].len != b->word[i].len ||
            a->word[i].count != b->word[i].count ||
            memcmp(a->text.s + a->word[i].at, b->text.s + b->word[i].at,
                   a->word[i].len) != 0)
            return false;
    return true;
}

/* Words of 1 to 40 letters, short ones and few different ones more often. */
static size_t make_text(uint8_t *s)
{
    size_t n = 0;

    for (uint64_t i = 0; n < TEXT - 50; i++) {
        const uint32_t r = rng_word(7, 0, i);
        const uint32_t len = r % 8 == 0 ? 1 + (r >> 8) % 40 : 1 + (r >> 8) % 4;

        for (uint32_t k = 0; k < len; k++)
            s[n++] = (uint8_t)('a' + rng_word(7, 1 + i, k) % 5);
        s[n++] = ' ';
    }
    return n;
}

/* Count the text with so many counters in turn, spilled every so often. */
static struct word_list count(const uint8_t *s, size_t n, size_t counters,
                              int spill_every, size_t limit, int64_t *left_out)
{
    pretokenize_fn *const split = pretokenize_by(PRETOKENIZE_GPT2);
    struct words w[COUNTERS];
    struct word_list list = { 0 };
    struct err e = { 0 };
    uint32_t stop[PRETOKENIZE_BATCH];
    const uint8_t *const end = s + n;
    int turn = 0;

    for (size_t i = 0; i < counters; i++)
        words_init(&w[i], 0);
    for (; s < end; turn++) {
        struct words *one = &w[(size_t)turn % counters];
        const size_t k = split(s, end, stop, PRETOKENIZE_BATCH);

        words_count(one, s, end, stop, k);
        if (spill_every && turn % spill_every == 0)
            ok(words_spill(one, &e) == 0, "a counter is written to a file");
        s += stop[k - 1];
    }
    if (words_collect(&list, w, counters, limit, left_out, &e) < 0)
        diag("%s", e.text);
    for (size_t i = 0; i < counters; i++)
        words_clear(&w[i]);
    sort(&list);
    return list;
}

static void test_longest(void)
{
    static const uint8_t text[WORDS_LONGEST + 1] = "word";
    const uint32_t stop[] = { 4, WORDS_LONGEST + 1 };
    const uint32_t longest[] = { WORDS_LONGEST, WORDS_LONGEST + 1 };
    struct words w;
    struct word_list list;
    struct err e = { 0 };
    int64_t out;

    words_init(&w, 0);
    words_count(&w, text, text + sizeof text, stop, 2);
    words_count(&w, text, text + sizeof text, longest, 2);
    ok(w.pieces == 4 && w.too_long == 0, "the longest pieces are counted");
    words_count(&w, text, text + sizeof text, longest + 1, 1);
    ok(w.pieces == 4 && w.too_long == 1, "a longer piece is left out");
    ok(words_collect(&list, &w, 1, 0, &out, &e) == 0 && list.n == 4,
       "the others have their counts");
    words_clear(&w);
    word_list_clear(&list);
}

int main(void)
{
    static uint8_t text[TEXT];
    const size_t n = make_text(text);
    int64_t out;
    struct word_list one = count(text, n, 1, 0, 0, &out);
    struct word_list three = count(text, n, 3, 0, 0, &out);
    struct word_list spilled = count(text, n, 1, 37, 0, &out);
    struct word_list both = count(text, n, 3, 41, 0, &out);
    struct word_list few, few3;
    uint64_t sum = 0, rarest = UINT64_MAX;
    int64_t out3;

    for (size_t i = 0; i < one.n; i++)
        sum += one.word[i].count * one.word[i].len;
    ok(sum == n, "the words with their counts add up to the text");
    ok(same(&one, &three), "three counters add up to the same as one");
    ok(same(&one, &spilled), "files do not change the counts");
    ok(same(&one, &both), "files of three counters do not change the counts");

    few = count(text, n, 1, 30, 100000, &out);
    few3 = count(text, n, 3, 50, 100000, &out3);
    for (size_t i = 0; i < few.n; i++)
        rarest = few.word[i].count < rarest ? few.word[i].count : rarest;
    ok(out > 0 && few.n + (size_t)out == one.n, "a limit leaves words out");
    ok(out == out3 && same(&few, &few3),
       "three counters leave out the same words");
    for (size_t i = 0; i < one.n; i++)
        if (one.word[i].count >= rarest)
            out3++;
    ok(out3 == out + (int64_t)few.n, "the words left out are the rarest");
    word_list_clear(&one);
    word_list_clear(&three);
    word_list_clear(&spilled);
    word_list_clear(&both);
    word_list_clear(&few);
    word_list_clear(&few3);
    test_longest();
    return done_testing();
}
