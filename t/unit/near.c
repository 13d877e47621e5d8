/*
 * near - which documents are dropped, beside a comparison of all with all
 */
#include "config.h"
#include "data/corpus/near.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/path.h"
#include "common/save.h"
#include "data/corpus/roll.h"
#include "t/lib/tap.h"

enum { DOCS = 400, WORDS = 60, LENGTH = 5 };

static uint32_t word[DOCS][WORDS];
static uint64_t state = 1;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Half of the documents repeat another with a few words changed. */
static void make_documents(struct buf *text)
{
    for (int d = 0; d < DOCS; d++) {
        const bool copy = d > 0 && draw(2);
        const uint32_t from = copy ? draw((uint32_t)d) : 0;

        for (int w = 0; w < WORDS; w++)
            word[d][w] = copy ? word[from][w] : draw(1000000);
        for (uint32_t n = copy ? draw(4) : 0; n > 0; n--)
            word[d][draw(WORDS)] = draw(1000000);
        buf_str(text, "{\"text\":\"");
        for (int w = 0; w < WORDS; w++)
            buf_printf(text, "%s%u", w ? " " : "", word[d][w]);
        buf_str(text, "\"}\n");
    }
}

/* The sequences at every position of the one that the other has, divided by
 * those of both; words are rarely repeated, so sequences never are. */
static double similarity(int a, int b)
{
    const int n = WORDS - LENGTH + 1;
    int both = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            both += memcmp(&word[a][i], &word[b][j],
                           LENGTH * sizeof word[a][i]) == 0;
    return (double)both / (2 * n - both);
}

/* The first document that each is connected with by pairs of this similarity,
 * or more. */
static void connect(int *first, double least)
{
    bool changed = true;

    for (int d = 0; d < DOCS; d++)
        first[d] = d;
    while (changed) {
        changed = false;
        for (int a = 0; a < DOCS; a++)
            for (int b = 0; b < a; b++)
                if (first[a] != first[b] && similarity(a, b) >= least) {
                    first[a] = first[b] =
                        first[a] < first[b] ? first[a] : first[b];
                    changed = true;
                }
    }
}

static bool is_repeated(int doc)
{
    for (int d = 0; d < doc; d++)
        if (memcmp(word[d], word[doc], sizeof word[d]) == 0)
            return true;
    return false;
}

static struct near *find(char *path, int threads, double least)
{
    const struct corpus_conf conf = { .path = &path,
                                      .n = 1,
                                      .format = CORPUS_JSONL };
    const struct near_how how = { least, 64 << 20, threads };
    struct err e = { 0 };
    struct near *n = near_find(&conf, &how, &e);

    if (!n)
        diag("%s", e.text);
    return n;
}

/* Is exactly dropped what is connected with an earlier document, and not equal
 * to one?  MinHash misses pairs of a small similarity, so some may be kept. */
static void compare(char *path, double least)
{
    struct near *n = find(path, 3, least), *same = find(path, 1, least);
    int first[DOCS], wrong = 0, missed = 0, expected = 0, differ = 0;

    connect(first, least);
    for (int d = 0; d < DOCS; d++) {
        const bool dropped = near_drops(n, d);

        wrong += dropped && (first[d] == d || is_repeated(d));
        missed += !dropped && first[d] != d && !is_repeated(d);
        expected += first[d] != d && !is_repeated(d);
        differ += dropped != near_drops(same, d);
    }
    diag("at a similarity of %g, %d of %d are missed", least, missed, expected);
    ok(near_documents(n) == DOCS && !near_drops(n, DOCS),
       "all documents are counted");
    ok(expected > 20 && wrong == 0, "no document is dropped that is similar to "
                                    "none before it");
    ok(missed * 10 <= expected, "nearly all that are similar are dropped");
    ok(differ == 0, "one thread and three drop the same documents");
    near_free(n);
    near_free(same);
}

static uint64_t last;

static void keep_last(void *arg, const struct roll *r)
{
    last = r->words >= LENGTH ? roll_last(r, arg, LENGTH) : 0;
}

static uint64_t sequence(const char *text)
{
    uint64_t power[ROLL_MAX + 1];
    struct roll r = { 0 };

    roll_powers(power);
    roll_text(&r, text, strlen(text), keep_last, power);
    roll_end(&r, keep_last, power);
    return last;
}

int main(void)
{
    char path[] = "/tmp/near.XXXXXX";
    struct buf text = BUF_INIT;
    struct err e = { 0 };

    close(mkstemp(path));
    make_documents(&text);
    ok(save_bytes(path, text.s, text.len, &e) == 0, "documents are written");
    compare(path, 0.75);
    compare(path, 0.82);
    ok(sequence("One, two: three four five") ==
           sequence("zero one TWO three -- four five."),
       "the hash of the last words does not depend on what surrounds them");
    ok(sequence("one two three four five") !=
           sequence("one two three five four"),
       "the hash of the last words depends on their order");
    unlink(path);
    buf_clear(&text);
    return done_testing();
}
