/*
 * pretokenize - pieces of known texts, and every loop against the others
 */
#include "config.h"
#include "data/token/pretokenize.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/format/unicode.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/rng.h"
#include "t/lib/tap.h"

static FILE *open_data(const char *name)
{
    const char *data = getenv("GT_TESTDATA"), *top = getenv("top_srcdir");
    char *path = data
                     ? xasprintf("%s/%s", data, name)
                     : xasprintf("%s/../shared/data/%s", top ? top : ".", name);
    FILE *fp = fopen(path, "r");

    free(path);
    return fp;
}

static void classes(void)
{
    static const struct {
        uint32_t c;
        int class;
    } some[] = {
        { 'a', UNICODE_LETTER },     { '0', UNICODE_NUMBER },
        { '\t', UNICODE_SPACE },     { '_', UNICODE_OTHER },
        { 0xAA, UNICODE_LETTER },    { 0xB2, UNICODE_NUMBER },
        { 0xA0, UNICODE_SPACE },     { 0x301, UNICODE_OTHER },
        { 0x200B, UNICODE_OTHER },   { 0x3000, UNICODE_SPACE },
        { 0x4E00, UNICODE_LETTER },  { 0x10FFFF, UNICODE_OTHER },
        { 0x16D40, UNICODE_LETTER }, /* new in Unicode 16.0 */
    };
    FILE *fp = open_data("unicode_classes.txt");
    char line[256];
    uint8_t *want;
    int class = 0, bad = 0;

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        ok(unicode_class(some[i].c) == some[i].class,
           "U+%04X has its Unicode class", some[i].c);
    for (uint32_t c = 0; c < 128; c++)
        bad += unicode_ascii[c] != unicode_class(c);
    ok(bad == 0, "the table of ASCII agrees with the Unicode classes");
    ok(unicode_case('A') == UNICODE_UPPER &&
           unicode_case(0x1C5) == UNICODE_UPPER &&
           unicode_case(0xDF) == UNICODE_LOWER &&
           unicode_case(0x4E00) == UNICODE_NO_CASE &&
           unicode_case(0x301) == UNICODE_MARK &&
           unicode_case('!') == UNICODE_NO_CASE,
       "letters have a case and combining characters are marks");
    if (!fp) {
        skip("unicode_classes.txt is not there",
             "every code point has the class of unicode_classes.txt");
        return;
    }
    want = xcalloc(0x110000, 1);
    while (fgets(line, sizeof line, fp)) {
        unsigned from, to;

        if (line[0] == '[')
            class = line[1] == 'L' && line[2] == ']'   ? UNICODE_LETTER
                    : line[1] == 'N' && line[2] == ']' ? UNICODE_NUMBER
                    : line[1] == 'S' && line[2] == ']' ? UNICODE_SPACE
                                                       : -1;
        else if (class > 0 && sscanf(line, "%x..%x", &from, &to) == 2)
            memset(want + from, class, to - from + 1);
    }
    for (uint32_t c = 0; c < 0x110000; c++)
        bad += unicode_class(c) != want[c];
    ok(bad == 0, "every code point has the class of unicode_classes.txt");
    free(want);
    fclose(fp);
}

static const struct loop {
    const char *name;
    const char *field;
} loops[] = {
    { "plain", "gpt2" },
    { "avx2", "gpt2" },
    { "cl100k", "cl100k" },
    { "o200k", "o200k" },
};

enum { LOOPS = sizeof loops / sizeof loops[0] };

static pretokenize_fn *loop_fn(int i)
{
    const int other = opt_find_word(pretokenize_names, loops[i].name);

    return other >= 0 ? pretokenize_by((enum pretokenizer)other)
                      : pretokenize_gpt2_by(loops[i].name);
}

/* All the ends of the pieces of a text, of which a call is asked for `max`;
 * returns how many. */
static size_t ends_by(pretokenize_fn *fn, const uint8_t *s, size_t n,
                      size_t *out, size_t max)
{
    uint32_t stop[PRETOKENIZE_BATCH];
    size_t count = 0, at = 0;

    while (at < n) {
        const size_t k = fn(s + at, s + n, stop, max);

        for (size_t i = 0; i < k; i++)
            out[count++] = at + stop[i];
        at += stop[k - 1];
    }
    return count;
}

/* The same, a few at a time. */
static size_t ends(pretokenize_fn *fn, const uint8_t *s, size_t n, size_t *out)
{
    return ends_by(fn, s, n, out, PRETOKENIZE_SPARE + 3);
}

static bool row_fits(pretokenize_fn *fn, const json_t *want, const uint8_t *s,
                     size_t n)
{
    size_t *end = xmalloc((n + 1) * sizeof *end);
    const size_t count = ends(fn, s, n, end);
    bool good = count == json_array_size(want);

    for (size_t i = 0; i < count && good; i++) {
        const size_t len = end[i] - (i > 0 ? end[i - 1] : 0);

        good = (json_int_t)len == json_integer_value(json_array_get(want, i));
    }
    free(end);
    return good;
}

static void known_pieces(void)
{
    FILE *fp = open_data("split_vectors.jsonl");
    char *line = NULL;
    size_t room = 0;
    int rows = 0, bad[LOOPS] = { 0 };

    if (!fp) {
        skip("split_vectors.jsonl is not there",
             "known texts are cut as expected");
        return;
    }
    while (getline(&line, &room, fp) > 0) {
        json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
        const char *hex = json_string_value(json_object_get(row, "hex"));
        const size_t n = strlen(hex) / 2;
        uint8_t *s = xmalloc(n + 1);

        for (size_t i = 0; i < n; i++) {
            unsigned byte = 0;

            sscanf(hex + 2 * i, "%2x", &byte);
            s[i] = (uint8_t)byte;
        }
        for (int i = 0; i < LOOPS; i++)
            if (loop_fn(i) &&
                !row_fits(loop_fn(i), json_object_get(row, loops[i].field), s,
                          n) &&
                bad[i]++ < 5)
                diag("%s: %s", loops[i].name, hex);
        rows++;
        free(s);
        json_decref(row);
    }
    for (int i = 0; i < LOOPS; i++) {
        if (loop_fn(i))
            ok(rows > 500 && bad[i] == 0,
               "%d known texts are cut as expected by %s", rows, loops[i].name);
        else
            skip("this processor does not have it",
                 "known texts are cut as expected by %s", loops[i].name);
    }
    free(line);
    fclose(fp);
}

/* Words by case, as o200k's expression finds them: | is where a piece ends. */
static void words_by_case(void)
{
    static const char *const texts[] = {
        "HTTPServer| camel|Case| i|Phone's| I'LL|!",
        "\xE6\xBC\xA2\xE5\xAD\x97|ABC| \xE6\xBC\xA2|A|123|4",
        "a\xCC\x81|B\xCC\x81|A",
        "a|/b|//\n\n/| (|x| //\n|  \n|  | y",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint8_t text[64];
        size_t want[64], end[64], n = 0, pieces = 0;

        for (const char *p = texts[i]; *p; p++)
            if (*p == '|')
                want[pieces++] = n;
            else
                text[n++] = (uint8_t)*p;
        want[pieces++] = n;
        ok(ends(pretokenize_by(PRETOKENIZE_O200K), text, n, end) == pieces &&
               memcmp(end, want, pieces * sizeof *end) == 0,
           "text %zu is cut into words by case", i + 1);
    }
}

/* What pieces hinge on, more often than in any real text. */
static const char *const bits[] = {
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "a",
    "s",
    "t",
    "ll",
    "ve",
    "re",
    "d",
    "m",
    "'",
    "''",
    "'s",
    "'ll",
    "7",
    "42",
    "1234",
    "-",
    "_!",
    "\xC2\xA0",
    "\xE3\x80\x80",
    "\xC3\xA9",
    "\xE6\xBC\xA2",
    "\xF0\x9F\x98\x80",
    "\xF0\xA0\x80\x80'llab",
    "\xC2\xB2",
    "\xD8\xA7",
    "\xCC\x81",
    "\xFF",
    "\xE6\xBC",
    "\xC2",
    "\xE2\x80\x99",
    "word",
    "internationalization",
    "................",
    "\xF0\x9F",
    "\xE3\x80\x82",
    "\xEF\xBC\x8C",
    "\x00x",
};

static size_t random_text(uint64_t seed, uint8_t *s, size_t max)
{
    const size_t kinds = sizeof bits / sizeof bits[0];
    /* each text draws from a few of them */
    const uint32_t first = rng_word(seed, 1, 0) % (uint32_t)kinds;
    const uint32_t some = 2 + rng_word(seed, 1, 1) % (uint32_t)kinds;
    const size_t want = rng_word(seed, 1, 2) % max;
    size_t n = 0;

    for (uint64_t i = 0; n < want; i++) {
        const uint32_t k = (first + rng_word(seed, 2, i) % some) % kinds;
        const size_t len = bits[k][0] ? strlen(bits[k]) : 2;

        if (n + len > max)
            break;
        memcpy(s + n, bits[k], len);
        n += len;
    }
    return n;
}

static void loops_agree(void)
{
    enum { LEN = 800, TEXTS = 12000 };
    static const char *const names[] = { "avx2", "avx512" };
    pretokenize_fn *const plain = pretokenize_gpt2_by("plain");
    uint8_t s[LEN];
    size_t want[LEN], got[LEN];

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        pretokenize_fn *const fn = pretokenize_gpt2_by(names[k]);
        int bad = 0;

        if (!fn) {
            skip("this processor does not have it",
                 "%s cuts texts as the plain loop does", names[k]);
            continue;
        }
        for (uint64_t seed = 0; seed < TEXTS; seed++) {
            const size_t n = random_text(seed, s, LEN);
            const size_t n_want = ends(plain, s, n, want);
            const size_t max =
                seed % 2 ? PRETOKENIZE_BATCH : PRETOKENIZE_SPARE + 3;
            const size_t n_got = ends_by(fn, s, n, got, max);

            if ((n_want != n_got ||
                 memcmp(want, got, n_got * sizeof *got) != 0) &&
                bad++ < 3)
                diag("text %llu", (unsigned long long)seed);
        }
        ok(bad == 0, "%s cuts %d texts as the plain loop does", names[k],
           TEXTS);
    }
}

/* Do the pieces of two parts make up those of the whole? */
static bool holds(enum pretokenizer kind, const uint8_t *s, size_t n,
                  size_t cut)
{
    pretokenize_fn *const fn = pretokenize_by(kind);
    size_t whole[400], parts[400];
    const size_t count = ends(fn, s, n, whole);
    const size_t first = ends(fn, s, cut, parts);
    const size_t all = first + ends(fn, s + cut, n - cut, parts + first);

    for (size_t i = first; i < all; i++)
        parts[i] += cut;
    return all == count && memcmp(whole, parts, count * sizeof *whole) == 0;
}

static void cuts_hold(void)
{
    enum { LEN = 200, TEXTS = 4000 };
    static const struct {
        const char *what;
        size_t (*cut)(const char *, size_t, size_t);
    } ways[] = { { "before a blank", boundary_before_blank },
                 { "after a letter", boundary_after_letter } };
    char text[LEN];

    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        int bad = 0, cuts = 0;

        for (uint64_t seed = 0; seed < TEXTS; seed++) {
            const size_t n = random_text(seed, (uint8_t *)text, LEN);

            for (size_t at = n; (at = ways[w].cut(text, at, 0)) > 0; cuts++)
                for (int kind = 0; kind < PRETOKENIZE_COUNT; kind++)
                    bad +=
                        !holds((enum pretokenizer)kind, (uint8_t *)text, n, at);
        }
        ok(bad == 0 && cuts > TEXTS,
           "%d positions where %s may cut keep the pieces", cuts, ways[w].what);
    }
}

static void patterns(void)
{
    bool good = true;

    for (int k = 0; k < PRETOKENIZE_COUNT; k++)
        good = good && pretokenize_names[k] &&
               pretokenize_from_pattern(
                   pretokenize_pattern((enum pretokenizer)k)) == k;
    ok(good && !pretokenize_names[PRETOKENIZE_COUNT],
       "every pre-tokenizer is found by its name and by its pattern");
    ok(pretokenize_from_pattern("\\w+") < 0, "an unknown pattern is not found");
}

int main(void)
{
    classes();
    known_pieces();
    words_by_case();
    loops_agree();
    cuts_hold();
    patterns();
    return done_testing();
}
