#include "config.h"
#include "data/corpus/clean.h"

#include <math.h>
#include <string.h>

#include "common/conf.h"
#include "common/format/unicode.h"
#include "common/hash.h"
#include "common/num.h"
#include "common/utf8.h"
#include "data/corpus/where.h"
#include "data/token/pretokenize.h"

const char *const clean_name[CLEAN_RULES] = {
#define RULE(id, name, ...) name,
#include "data/corpus/clean_rules.def"
};

static const struct rule {
    enum { LEAST, MOST, LIST = 3, LINE_LEAST, LINE_MOST, REPLACE, FIELD } kind;
    const char *published, *source;
} rules[CLEAN_RULES] = {
#define RULE(id, name, ...) { __VA_ARGS__ },
#include "data/corpus/clean_rules.def"
};

bool clean_is_of_lines(int rule)
{
    return rules[rule].kind >= LINE_LEAST;
}

/* False for NaN on one side. */
static bool breaks(const struct clean *c, int rule, double value)
{
    return rules[rule].kind % 2 == LEAST ? value < c->limit[rule]
                                         : value > c->limit[rule];
}

/* Does one of these rules apply? */
static bool uses(const struct clean *c, int first, int last)
{
    while (first < last && isnan(c->limit[first]))
        first++;
    return !isnan(c->limit[first]);
}

/* What C4 looks for, in any case; the first three bytes are small letters. */
static const struct phrase {
    enum clean_rule rule;
    const char *text;
} phrases[] = {
    { CLEAN_LOREM_IPSUM, "lorem ipsum" }, { CLEAN_JAVASCRIPT, "javascript" },
    { CLEAN_POLICIES, "terms of use" },   { CLEAN_POLICIES, "privacy policy" },
    { CLEAN_POLICIES, "cookie policy" },  { CLEAN_POLICIES, "uses cookies" },
    { CLEAN_POLICIES, "use of cookies" }, { CLEAN_POLICIES, "use cookies" },
};

enum { PHRASES = sizeof phrases / sizeof *phrases };

/* ---- files of rules ------------------------------------------------------ */

static int read_limit(struct clean *c, const struct conf *f, int i,
                      const char *text, struct err *e)
{
    double *const limit = &c->limit[i];
    const char *published = rules[i].published;
    const bool replaces = rules[i].kind == REPLACE;

    *limit = NAN;
    if (strcmp(text, "off") == 0 || rules[i].kind == FIELD)
        return 0;
    if (published && strcmp(text, "default") == 0)
        text = published;
    *limit = 0;
    if (rules[i].kind == LIST || i == CLEAN_LIST_LINES)
        return clean_read_list(c, i, f, text, e);
    if (replaces ? strcmp(text, published) == 0
                 : num_real(text, limit) && *limit >= 0)
        return 0;
    return conf_fail(f, clean_name[i], e, "expected %s%s or off, not '%s'",
                     replaces ? published : "a number of 0 or more",
                     published && !replaces ? ", default" : "", text);
}

/* To conf, each limit is a text. */
int clean_load(struct clean *c, const char *path, struct err *e)
{
    struct setting table[CLEAN_RULES] = { 0 };
    const char *text[CLEAN_RULES];
    AUTO(conf_clear) struct conf f;
    int ret;

    for (int i = 1; i < CLEAN_RULES; i++)
        table[i - 1] = (struct setting){ .key = clean_name[i],
                                         .type = CONF_TEXT,
                                         .at = (size_t)i * sizeof *text,
                                         .value = "off" };
    *c = (struct clean){ .kept = BUF_INIT, .replaced = BUF_INIT };
    conf_init(&f, table, text);
    text[CLEAN_EMPTY] = rules[CLEAN_EMPTY].published;
    text[CLEAN_URL_FIELD] = rules[CLEAN_URL_FIELD].published;
    ret = conf_read(&f, path, false, e);
    for (int i = 0; i < CLEAN_RULES && ret == 0; i++)
        ret = read_limit(c, &f, i, text[i], e);
    if (ret == 0 && uses(c, CLEAN_DOMAINS, CLEAN_URLS)) {
        AUTO_FREE char *has_url =
            xasprintf("\"%s\" is not null", text[CLEAN_URL_FIELD]);

        c->limit[CLEAN_URL_FIELD] = 0; /* it is counted */
        c->url = where_parse(has_url, e);
        ret = c->url ? 0 : -1;
    }
    for (int i = 0; i < 3 * PHRASES; i++) {
        const int byte = phrases[i / 3].text[i % 3];

        c->may_begin[i % 3][byte] |= (uint8_t)(1 << i / 3);
        c->may_begin[i % 3][byte - 'a' + 'A'] |= (uint8_t)(1 << i / 3);
    }
    c->edits = uses(c, CLEAN_CITATIONS, CLEAN_SENTENCES);
    if (c->edits && !(c->limit[CLEAN_SENTENCES] >= 1))
        c->limit[CLEAN_SENTENCES] = 1; /* something must be left */
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

struct extent {
    size_t words, chars, sentences;
};

struct counts {
    struct grams *grams; /* or NULL */
    struct clean *edits; /* by C4's rules of lines; or NULL */
    double values[CLEAN_RULES];
    struct extent line, kept; /* lines, without white space around them */
    size_t begin, longest;    /* of the line; in characters */
    bool ended;               /* does no sentence continue? */
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

/* The class of the character at p, which goes to *c, and its length to *n. */
static unsigned class_at(const uint8_t *p, const uint8_t *end, uint32_t *c,
                         size_t *n)
{
    *c = *p;
    *n = 1;
    if (*p >= 0x80)
        *n = utf8_decode(p, end, c);
    return class_of(*c);
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

struct word {
    size_t chars;
    unsigned has; /* the classes of its characters */
};

/* Skip a word, or white space; returns its end. */
static inline const uint8_t *skip_word(struct word *w, const uint8_t *p,
                                       const uint8_t *end, bool is_space)
{
    for (size_t n; p < end; p += n) {
        uint32_t c;
        const unsigned class = class_at(p, end, &c, &n);

        if ((class == IS_SPACE) != is_space)
            break;
        w->has |= class;
        w->chars++;
    }
    return p;
}

/* Does a word end in a terminal mark, and maybe quotation marks and brackets
 * after it? */
static bool ends_sentence(const uint8_t *s, size_t n)
{
    size_t len;
    uint32_t c;

    if (s[n - 1] < 0x80 && ascii_class[s[n - 1]])
        return false;
    do {
        c = boundary_last_char(s, n, &len);
        n -= len;
    } while (n > 0 && (c == 0x2019 || c == 0x201d ||
                       (c < 0x80 && memchr("\"')]", (int)c, 4))));
    return in_ranges(unicode_terminal, c);
}

/* Skip a word, and count it.  A sentence ends with a word that does, unless a
 * small letter of ASCII begins the next one, and with the line. */
static const uint8_t *read_word(struct counts *k, const uint8_t *p,
                                const uint8_t *end)
{
    const uint8_t *const begin = p;
    struct word w = { 0 };
    size_t len;

    p = skip_word(&w, p, end, false);
    len = (size_t)(p - begin);
    if (k->grams)
        grams_add(k->grams, (const char *)begin, len, w.chars);
    if (k->line.words == 0)
        k->begin = k->chars;
    k->line.sentences +=
        k->line.words == 0 || (k->ended && (*begin < 'a' || *begin > 'z'));
    k->ended = ends_sentence(begin, len);
    k->chars += w.chars;
    k->line.chars = k->chars - k->begin;
    k->line.words++;
    k->words++;
    k->longest = w.chars > k->longest ? w.chars : k->longest;
    k->letters += (w.has & IS_LETTER) != 0;
    k->plain += (w.has & IS_PLAIN) != 0;
    k->plain_chars += w.has & IS_PLAIN ? w.chars : 0;
    for (size_t i = 0; len <= 4 && k->stop_words != 0xff && i < 8; i++)
        k->stop_words |= (unsigned)(*begin == (uint8_t)*stop_words[i] &&
                                    memcmp(begin, stop_words[i], len) == 0 &&
                                    stop_words[i][len] == '\0')
                         << i;
    return p;
}

/* How often a text occurs. */
static double count_of(const char *s, size_t n, const char *what)
{
    const char *const end = s + n;
    double count = 0;

    for (; (s = memchr(s, *what, (size_t)(end - s))); s++)
        if (begins_with((const uint8_t *)s, (const uint8_t *)end, what)) {
            count++;
            s += strlen(what) - 1;
        }
    return count;
}

/* ---- lines, and what C4 keeps of them ------------------------------------ */

/* The length of a citation at s, such as "[12]", or 0. */
static size_t citation_at(const uint8_t *s, const uint8_t *end)
{
    const uint8_t *p = s + 1;

    if (begins_with(p, end, "edit]") || begins_with(p, end, "citation needed]"))
        return *p == 'e' ? 6 : 17;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p < end && *p == ']' ? (size_t)(p + 1 - s) : 0;
}

/* Append a line without its citations; returns their number. */
static double add_uncited(struct buf *b, const uint8_t *s, const uint8_t *end)
{
    double count = 0;

    while (s < end) {
        const uint8_t *at = memchr(s, '[', (size_t)(end - s));
        const size_t n = at ? citation_at(at, end) : 0;

        at = at ? at + (n == 0) : end; /* with a bracket that begins none */
        buf_add(b, s, (size_t)(at - s));
        s = at + n;
        count += n > 0;
    }
    return count;
}

/* How often the phrases of each rule from CLEAN_LOREM_IPSUM on occur.  Few
 * characters may begin one, by the bits of three bytes. */
static void count_phrases(const struct clean *c, const char *s, size_t n,
                          double count[])
{
    const uint8_t *const text = (const uint8_t *)s;

    count[CLEAN_BRACKETS - CLEAN_LOREM_IPSUM] = count_of(s, n, "{");
    for (size_t i = 0; i + 3 <= n; i++) {
        unsigned may = c->may_begin[0][text[i]] & c->may_begin[1][text[i + 1]] &
                       c->may_begin[2][text[i + 2]];

        for (; may; may &= may - 1) {
            const struct phrase *const p = &phrases[__builtin_ctz(may)];
            const size_t len = strlen(p->text);

            count[p->rule - CLEAN_LOREM_IPSUM] +=
                n - i >= len && strncasecmp(s + i, p->text, len) == 0;
        }
    }
}

/* Does a line end in one of C4's marks? */
static bool is_marked(const char *s, size_t n)
{
    return n > 0 && s[n - 1] && strchr(".?!\"'", s[n - 1]) &&
           (n < 3 || memcmp(s + n - 3, "...", 3) != 0);
}

static struct counts read_text(struct grams *g, struct clean *edits,
                               const char *text, size_t n);

/* Keep a line, or what remains of it, unless a rule removes it. */
static void keep_line(struct counts *k, const uint8_t *s, const uint8_t *end)
{
    struct clean *const c = k->edits;
    struct buf *const kept = &c->kept;
    const size_t had = kept->len;
    struct extent line = k->line;
    struct counts rest;
    double values[CLEAN_RULES] = { [CLEAN_LINE_LETTERS] = (double)k->longest,
                                   [CLEAN_LINE_WORDS] = (double)line.words };

    if (breaks(c, CLEAN_CITATIONS, add_uncited(kept, s, end))) {
        c->count[CLEAN_CITATIONS]++;
        rest = read_text(NULL, NULL, kept->s + had, kept->len - had);
        line = rest.line;
        line.chars = rest.chars; /* with white space around it */
    } else {
        buf_trim(kept, had);
        buf_add(kept, s, (size_t)(end - s));
    }
    values[CLEAN_LINE_MARKS] = is_marked(kept->s + had, kept->len - had);
    if (c->list[CLEAN_LIST_LINES].line)
        values[CLEAN_LIST_LINES] =
            clean_find(c, CLEAN_LIST_LINES, (const char *)s, (size_t)(end - s));
    for (int i = CLEAN_LIST_LINES; i < CLEAN_SENTENCES; i++) {
        if (i == CLEAN_LOREM_IPSUM && uses(c, i, CLEAN_POLICIES))
            count_phrases(c, kept->s + had, kept->len - had, &values[i]);
        if (!clean_is_of_lines(i)) {
            k->values[i] += values[i];
        } else if (breaks(c, i, values[i])) {
            c->count[i] += s < end;
            buf_trim(kept, had);
            return;
        }
    }
    k->values[CLEAN_SENTENCES] += (double)line.sentences;
    k->kept.words += line.words;
    k->kept.chars += line.chars + 1;
    buf_char(kept, '\n');
}

/* Count the line between its first word and its last one, if it has any. */
static void count_line(struct counts *k, const uint8_t *s, const uint8_t *end)
{
    k->lines++;
    k->bullets += begins_with(s, end, "-") || begins_with(s, end, "\u2022");
    k->cut += end - s >= 3 && (begins_with(end - 3, end, "...") ||
                               begins_with(end - 3, end, "\u2026"));
    if (!k->edits)
        return;
    keep_line(k, s, end);
    k->line = (struct extent){ 0 };
    k->longest = 0;
}

static struct counts read_text(struct grams *g, struct clean *edits,
                               const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;
    const uint8_t *first = p, *last = p; /* of a line */
    struct counts k = { .grams = g, .edits = edits };
    bool in_line = false;

    if (g)
        grams_begin(g, text, n);
    while (p < end) {
        uint32_t c;

        if (class_at(p, end, &c, &n) != IS_SPACE) {
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

/* ---- repeated paragraphs and lines, and lines of FineWeb ----------------- */

enum { SHORT_LINE = 30 };

/* What newlines separate; those with words are lines to FineWeb. */
struct pieces {
    double n, repeated, repeated_chars;
    double lines, line_chars; /* repeated ones */
    double ended, brief;
    struct hashset seen;
};

static void add_piece(struct pieces *p, const char *text, size_t n)
{
    const uint8_t *s = (const uint8_t *)text, *const end = s + n;
    const bool repeated = !hashset_add(&p->seen, hash128(text, n, 0).hi);
    bool has_word = false;
    double chars = 0;
    uint32_t c;
    size_t len;

    for (const uint8_t *at = s; at < end && !has_word;) {
        at += utf8_decode(at, end, &c);
        has_word = class_of(c) != IS_SPACE;
    }
    if (repeated || n <= SHORT_LINE * UTF8_MAX)
        for (const uint8_t *at = s; at < end; chars++)
            at += utf8_decode(at, end, &c);
    p->n++;
    p->repeated += repeated;
    p->repeated_chars += repeated ? chars : 0;
    p->lines += has_word;
    p->line_chars += repeated && has_word ? chars : 0;
    p->ended +=
        has_word && in_ranges(unicode_terminal, boundary_last_char(s, n, &len));
    p->brief += has_word && n <= SHORT_LINE * UTF8_MAX && chars <= SHORT_LINE;
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
    const double chars = (double)k->chars,
                 newlines = (double)boundary_count_lines(text, n);

    v[CLEAN_PARAGRAPHS] = paragraphs.repeated / paragraphs.n;
    v[CLEAN_PARAGRAPH_TEXT] = paragraphs.repeated_chars / chars;
    v[CLEAN_LINES] = lines.repeated / lines.n;
    v[CLEAN_LINE_TEXT] = lines.repeated_chars / chars;
    v[CLEAN_END_LINES] = lines.ended / lines.lines;
    v[CLEAN_SHORT_LINES] = lines.brief / lines.lines;
    v[CLEAN_REPEATED] = lines.line_chars / (chars - newlines);
    v[CLEAN_NEWLINES] = newlines / (double)k->words;
}

/* ---- the test ------------------------------------------------------------ */

static void measure_words(struct counts *k, const char *text, size_t n)
{
    const double words = (double)k->words, lines = (double)k->lines;
    double *const v = k->values;

    v[CLEAN_EMPTY] = v[CLEAN_WORDS_MIN] = v[CLEAN_WORDS_MAX] = words;
    v[CLEAN_CHARACTERS_MIN] = v[CLEAN_CHARACTERS_MAX] = (double)k->chars;
    v[CLEAN_GOPHER_MIN] = v[CLEAN_GOPHER_MAX] = (double)k->plain;
    v[CLEAN_SHORT_WORDS] = v[CLEAN_LONG_WORDS] =
        (double)k->plain_chars / (double)k->plain;
    v[CLEAN_HASH_SIGNS] = count_of(text, n, "#") / words;
    v[CLEAN_ELLIPSES] =
        (count_of(text, n, "...") + count_of(text, n, "\u2026")) / words;
    v[CLEAN_BULLETS] = (double)k->bullets / lines;
    v[CLEAN_CUT_LINES] = (double)k->cut / lines;
    v[CLEAN_LETTERS] = (double)k->letters / words;
    v[CLEAN_STOP_WORDS] = __builtin_popcount(k->stop_words);
}

/* Go on with the lines that are kept, without white space around them. */
static void take_kept(struct clean *c, struct counts *k, const char **text,
                      size_t *n)
{
    const uint8_t *const end = (const uint8_t *)c->kept.s + c->kept.len - 1, *s;
    struct word blank = { 0 };
    size_t len;

    if (c->kept.len == *n + 1 && memcmp(c->kept.s, *text, *n) == 0)
        return;
    s = skip_word(&blank, (const uint8_t *)c->kept.s, end, true);
    *text = (const char *)s;
    *n = (size_t)(end - s);
    for (; class_of(boundary_last_char(s, *n, &len)) == IS_SPACE; *n -= len)
        blank.chars++;
    k->chars = k->kept.chars - 1 - blank.chars;
    k->words = k->kept.words;
    k->first = NULL; /* the rules of paragraphs were before */
    measure_pieces(k->values, k, *text, *n);
}

int clean_test(struct clean *c, struct corpus_doc *d, double *value,
               int64_t count[CLEAN_RULES])
{
    const char **const text = &d->text;
    size_t *const n = &d->len;
    struct counts k;

    c->count = count;
    buf_trim(&c->kept, 0);
    k = read_text(uses(c, CLEAN_TOP_2, CLEAN_GRAMS_10) ? &c->grams : NULL,
                  c->edits ? c : NULL, *text, *n);
    measure_words(&k, *text, *n);
    for (int i = 0; i < CLEAN_RULES; i++) {
        if (i == CLEAN_DOMAINS && c->url)
            clean_find_in_url(c, d, k.values);
        if (i == CLEAN_LIST_WORDS && c->list[i].line)
            k.values[i] = clean_find(c, i, *text, *n);
        if (i == CLEAN_PARAGRAPHS && (uses(c, i, CLEAN_LINE_TEXT) ||
                                      uses(c, CLEAN_END_LINES, CLEAN_NEWLINES)))
            measure_pieces(k.values, &k, *text, *n);
        if (i == CLEAN_END_LINES && c->edits)
            take_kept(c, &k, text, n);
        if (isnan(c->limit[i]) || clean_is_of_lines(i))
            continue;
        *value = k.values[i];
        if (i >= CLEAN_TOP_2 && i <= CLEAN_GRAMS_10)
            *value = (i < CLEAN_GRAMS_5 ? grams_top : grams_repeated)(
                &c->grams, (size_t)(i - CLEAN_TOP_2 + 2), k.chars, c->limit[i]);
        if (breaks(c, i, *value)) {
            count[i]++;
            return i;
        }
    }
    if (uses(c, CLEAN_EMAILS, CLEAN_PHONES))
        clean_replace(c, text, n);
    return -1;
}

void clean_clear(struct clean *c)
{
    buf_clear(&c->kept);
    buf_clear(&c->replaced);
    grams_clear(&c->grams);
}
