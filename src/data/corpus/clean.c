#include "config.h"
#include "data/corpus/clean.h"

#include <math.h>
#include <string.h>

#include "common/conf.h"
#include "common/format/unicode.h"
#include "common/hash.h"
#include "common/num.h"
#include "common/utf8.h"
#include "data/corpus/hashset.h"

const char *const clean_name[CLEAN_RULES] = {
#define RULE(id, name, ...) name,
#include "data/corpus/clean_rules.def"
};

static const struct rule {
    enum { LEAST, MOST } kind;
    const char *published, *source;
} rules[CLEAN_RULES] = {
#define RULE(id, name, ...) { __VA_ARGS__ },
#include "data/corpus/clean_rules.def"
};

/* ---- files of rules ------------------------------------------------------ */

static int read_limit(double *limit, const struct conf *f, int i,
                      const char *text, struct err *e)
{
    const char *published = rules[i].published;

    *limit = NAN;
    if (strcmp(text, "off") == 0)
        return 0;
    if (published && strcmp(text, "default") == 0)
        text = published;
    if (num_real(text, limit) && *limit >= 0)
        return 0;
    return conf_fail(f, clean_name[i], e,
                     "expected a number of 0 or more%s or off, not '%s'",
                     published ? ", default" : "", text);
}

/* To conf, each limit is a text. */
int clean_load(struct clean *c, const char *path, struct err *e)
{
    struct setting table[CLEAN_RULES] = { 0 };
    const char *text[CLEAN_RULES];
    struct conf f;
    int ret;

    for (int i = 1; i < CLEAN_RULES; i++)
        table[i - 1] = (struct setting){ .key = clean_name[i],
                                         .type = CONF_TEXT,
                                         .at = (size_t)i * sizeof *text,
                                         .value = "off" };
    conf_init(&f, table, text);
    text[CLEAN_EMPTY] = rules[CLEAN_EMPTY].published;
    ret = conf_read(&f, path, false, e);
    for (int i = 0; i < CLEAN_RULES && ret == 0; i++)
        ret = read_limit(&c->limit[i], &f, i, text[i], e);
    conf_clear(&f);
    return ret;
}

/* ---- the words and lines of a text --------------------------------------- */

/* White space, letters and the ends of lines are what Python takes for them,
 * and punctuation what datatrove takes for it, so that the same limits keep the
 * same documents. */
enum { IS_SPACE = 1, IS_LETTER = 2, IS_PLAIN = 4 /* no punctuation */ };

static const uint8_t ascii_class[128] = {
    [9 ... 13] = IS_SPACE,
    [28 ... 32] = IS_SPACE,
    ['0' ... '9'] = IS_PLAIN,
    ['A' ... 'Z'] = IS_LETTER | IS_PLAIN,
    ['a' ... 'z'] = IS_LETTER | IS_PLAIN,
};

static const char stop_words[][5] = { "the", "be",   "to",   "of",
                                      "and", "that", "have", "with" };

struct counts {
    const char *first, *last; /* of the text without white space around it */
    size_t chars, words, lines;
    size_t letters;            /* words with a letter */
    size_t plain, plain_chars; /* words that are not only punctuation */
    unsigned stop_words;       /* a bit for each that occurs */
    size_t bullets, cut;       /* lines that begin with one; end with "..." */
};

static bool in_ranges(const uint32_t (*range)[2], uint32_t c)
{
    while (c > (*range)[1] && (*range)[1] > 0)
        range++;
    return c >= (*range)[0] && c <= (*range)[1];
}

static unsigned class_of(uint32_t c)
{
    if (c < 0x80)
        return ascii_class[c];
    if (c == UTF8_BAD)
        return IS_PLAIN;
    if (unicode_class(c) == UNICODE_SPACE)
        return IS_SPACE;
    if (unicode_class(c) == UNICODE_LETTER)
        return IS_LETTER | IS_PLAIN;
    return in_ranges(unicode_punctuation, c) || in_ranges(unicode_terminal, c)
               ? 0
               : IS_PLAIN;
}

static bool ends_line(uint32_t c)
{
    return (c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 ||
           c == 0x2028 || c == 0x2029;
}

static bool begins_with(const uint8_t *s, const uint8_t *end, const char *what)
{
    const size_t n = strlen(what);

    return (size_t)(end - s) >= n && memcmp(s, what, n) == 0;
}

static void count_word(struct counts *k, const uint8_t *s, size_t n,
                       size_t chars, unsigned has)
{
    k->words++;
    k->letters += (has & IS_LETTER) != 0;
    k->plain += (has & IS_PLAIN) != 0;
    k->plain_chars += has & IS_PLAIN ? chars : 0;
    for (size_t i = 0; n <= 4 && i < sizeof stop_words / 5; i++)
        k->stop_words |= (unsigned)(memcmp(s, stop_words[i], n) == 0 &&
                                    stop_words[i][n] == '\0')
                         << i;
}

/* Count the line between its first word and its last one, if it has any. */
static void count_line(struct counts *k, const uint8_t *s, const uint8_t *end)
{
    k->lines++;
    k->bullets += begins_with(s, end, "-") || begins_with(s, end, "\u2022");
    k->cut += end - s >= 3 && (begins_with(end - 3, end, "...") ||
                               begins_with(end - 3, end, "\u2026"));
}

/* Skip a word, and count it. */
static const uint8_t *read_word(struct counts *k, const uint8_t *p,
                                const uint8_t *end)
{
    const uint8_t *const begin = p;
    size_t chars = 0;
    unsigned has = 0;

    while (p < end) {
        uint32_t c;
        const size_t n = utf8_decode(p, end, &c);
        const unsigned class = class_of(c);

        if (class == IS_SPACE)
            break;
        has |= class;
        chars++;
        p += n;
    }
    k->chars += chars;
    count_word(k, begin, (size_t)(p - begin), chars, has);
    return p;
}

static struct counts read_text(const uint8_t *p, size_t n)
{
    const uint8_t *const end = p + n, *first = p, *last = p; /* of a line */
    struct counts k = { .first = NULL };
    bool in_line = false;

    while (p < end) {
        uint32_t c;

        n = utf8_decode(p, end, &c);
        if (class_of(c) != IS_SPACE) {
            first = first == last ? p : first;
            k.first = k.first ? k.first : (const char *)p;
            p = last = read_word(&k, p, end);
            k.last = (const char *)p;
            in_line = true;
            continue;
        }
        if (c == '\r' && p + 1 < end && p[1] == '\n') {
            p++; /* one end of a line, but two characters */
            k.chars++;
        }
        k.chars++;
        p += n;
        in_line = !ends_line(c);
        if (!in_line) {
            count_line(&k, first, last);
            first = last = p;
        }
    }
    if (in_line)
        count_line(&k, first, last);
    return k;
}

static double count_of(const char *s, size_t n, const char *what)
{
    const char *const end = s + n;
    double count = 0;

    for (; (s = memmem(s, (size_t)(end - s), what, strlen(what))); count++)
        s += strlen(what);
    return count;
}

/* ---- repeated paragraphs and lines, and lines of FineWeb ----------------- */

enum { SHORT_LINE = 30 };

/* What newlines separate; those with words are lines to FineWeb. */
struct pieces {
    double n, repeated, repeated_chars;
    double lines, line_chars; /* repeated ones */
    double ended, brief;
    struct hashset seen;
};

static void add_piece(struct pieces *p, const char *s, size_t n)
{
    const uint8_t *at = (const uint8_t *)s, *const end = at + n;
    const bool repeated = !hashset_add(&p->seen, hash128(s, n, 0).hi);
    double chars = 0;
    bool has_word = false;
    uint32_t c = ' ';

    for (; at < end; chars++) {
        at += utf8_decode(at, end, &c);
        has_word |= class_of(c) != IS_SPACE;
    }
    p->n++;
    p->repeated += repeated;
    p->repeated_chars += repeated ? chars : 0;
    p->lines += has_word;
    p->line_chars += repeated && has_word ? chars : 0;
    p->ended += has_word && in_ranges(unicode_terminal, c);
    p->brief += has_word && chars <= SHORT_LINE;
}

/* Divide a text where there are `least` newlines or more. */
static struct pieces find_pieces(const char *s, const char *end, size_t least)
{
    const char *stop = s;
    struct pieces p = { 0 };

    for (size_t run = 0; s; s = stop) {
        while ((stop = memchr(stop, '\n', (size_t)(end - stop)))) {
            for (run = 1; stop + run < end && stop[run] == '\n';)
                run++;
            if (run >= least)
                break;
            stop += run;
        }
        add_piece(&p, s, (size_t)((stop ? stop : end) - s));
        stop = stop ? stop + run : NULL;
    }
    hashset_clear(&p.seen);
    return p;
}

static void measure_pieces(double *v, const struct counts *k, const char *text,
                           size_t n)
{
    const struct pieces paragraphs = find_pieces(k->first, k->last, 2),
                        lines = find_pieces(text, text + n, 1);
    const double chars = (double)k->chars, newlines = count_of(text, n, "\n");

    v[CLEAN_PARAGRAPHS] = paragraphs.repeated / paragraphs.n;
    v[CLEAN_PARAGRAPH_TEXT] = paragraphs.repeated_chars / chars;
    v[CLEAN_LINES] = lines.repeated / lines.n;
    v[CLEAN_LINE_TEXT] = lines.repeated_chars / chars;
    v[CLEAN_END_LINES] = lines.ended / lines.lines;
    v[CLEAN_SHORT_LINES] = lines.brief / lines.lines;
    v[CLEAN_REPEATED] = lines.line_chars / (chars - newlines);
    v[CLEAN_NEWLINES] = newlines / (double)k->words;
}

int clean_test(const struct clean *c, const char *text, size_t n, double *value)
{
    const struct counts k = read_text((const uint8_t *)text, n);
    const double words = (double)k.words, lines = (double)k.lines;
    const double length = (double)k.plain_chars / (double)k.plain;
    double values[CLEAN_RULES] = {
        [CLEAN_EMPTY] = words,
        [CLEAN_CHARACTERS_MIN] = (double)k.chars,
        [CLEAN_CHARACTERS_MAX] = (double)k.chars,
        [CLEAN_WORDS_MIN] = words,
        [CLEAN_WORDS_MAX] = words,
        [CLEAN_GOPHER_MIN] = (double)k.plain,
        [CLEAN_GOPHER_MAX] = (double)k.plain,
        [CLEAN_SHORT_WORDS] = length,
        [CLEAN_LONG_WORDS] = length,
        [CLEAN_HASH_SIGNS] = count_of(text, n, "#") / words,
        [CLEAN_ELLIPSES] =
            (count_of(text, n, "...") + count_of(text, n, "\u2026")) / words,
        [CLEAN_BULLETS] = (double)k.bullets / lines,
        [CLEAN_CUT_LINES] = (double)k.cut / lines,
        [CLEAN_LETTERS] = (double)k.letters / words,
        [CLEAN_STOP_WORDS] = __builtin_popcount(k.stop_words),
    };

    measure_pieces(values, &k, text, n);
    for (int i = 0; i < CLEAN_RULES; i++) {
        *value = values[i]; /* comparisons with NaN are false */
        if (rules[i].kind == LEAST ? *value < c->limit[i]
                                   : *value > c->limit[i])
            return i;
    }
    return -1;
}
