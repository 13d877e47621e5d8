#include "config.h"
#include "data/token/pretokenize.h"

#include <stdbool.h>
#include <string.h>

#include "data/token/pretokenize_impl.h"

/* The character at p: its class, and its length in bytes. */
static inline int class_at(const uint8_t *p, const uint8_t *end, size_t *n)
{
    uint32_t c;

    if (*p < 0x80) {
        *n = 1;
        return class_ascii[*p];
    }
    *n = utf8_decode(p, end, &c);
    if (c != UTF8_BAD)
        return class_of(c);
    *n = 1;
    return CLASS_OTHER;
}

/* Past the characters of one class. */
static const uint8_t *skip_class(const uint8_t *p, const uint8_t *end,
                                 int class)
{
    size_t n;

    while (p < end && class_at(p, end, &n) == class)
        p += n;
    return p;
}

/* The white space that begins at p: its end, and its last character. */
static const uint8_t *skip_space(const uint8_t *p, const uint8_t *end,
                                 const uint8_t **last)
{
    size_t n;

    while (p < end && class_at(p, end, &n) == CLASS_SPACE) {
        *last = p;
        p += n;
    }
    return p;
}

/* How long the contraction is that the apostrophe at p may begin, or 0. */
static size_t contraction(const uint8_t *p, const uint8_t *end)
{
    return *p == '\'' && end - p > 1
               ? split_contraction(p[1], end - p > 2 ? p[2] : 0)
               : 0;
}

const uint8_t *split_gpt2_piece(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *begin = p, *last = p;
    const size_t len = contraction(p, end);
    size_t n;
    int class;

    if (len > 0)
        return p + len;
    class = class_at(p, end, &n);
    if (*p == ' ' && end - p > 1) {
        class = class_at(p + 1, end, &n);
        if (class != CLASS_SPACE)
            p++;
    }
    if (class != CLASS_SPACE)
        return skip_class(p + n, end, class);
    p = skip_space(p, end, &last);
    return p == end || last == begin ? p : last;
}

/* 0, or how long the contraction at p is, in either case. */
static size_t any_case_contraction(const uint8_t *p, const uint8_t *end)
{
    const size_t n = (size_t)(end - p);
    const int a = n > 1 ? p[1] | 0x20 : 0, b = n > 2 ? p[2] | 0x20 : 0;

    if (n < 2 || *p != '\'')
        return 0;
    if (a == 's' || a == 'd' || a == 'm' || a == 't')
        return 2;
    if ((a == 'l' && b == 'l') || ((a == 'v' || a == 'r') && b == 'e'))
        return 3;
    /* U+017F, the long s, folds to s */
    return n > 2 && p[1] == 0xC5 && p[2] == 0xBF ? 3 : 0;
}

static bool is_break(uint8_t c)
{
    return c == '\n' || c == '\r';
}

static const uint8_t *cl100k_space(const uint8_t *p, const uint8_t *end,
                                   bool whole_tail)
{
    const uint8_t *last = p;
    const uint8_t *stop = skip_space(p, end, &last);
    const uint8_t *line = stop;

    if (stop == end && whole_tail)
        return stop;
    while (line > p && !is_break(line[-1]))
        line--;
    if (line > p)
        return line;
    return stop == end || last == p ? stop : last;
}

static const uint8_t *up_to_three_numbers(const uint8_t *p, const uint8_t *end)
{
    size_t n;

    for (int i = 0; i < 3 && p < end; i++, p += n)
        if (class_at(p, end, &n) != CLASS_NUMBER)
            break;
    return p;
}

/* Others, maybe behind a space, with what joins them; NULL if none are here. */
static const uint8_t *cl100k_others(const uint8_t *p, const uint8_t *end,
                                    const char *joining)
{
    const uint8_t *const begin = p + (*p == ' ');

    p = skip_class(begin, end, CLASS_OTHER);
    if (p == begin)
        return NULL;
    while (p < end && *p && strchr(joining, *p))
        p++;
    return p;
}

static const uint8_t *cl100k_piece(const uint8_t *p, const uint8_t *end,
                                   bool whole_tail)
{
    const size_t short_form = any_case_contraction(p, end);
    const uint8_t *others;
    size_t n, n2;
    int class;

    if (short_form > 0)
        return p + short_form;
    class = class_at(p, end, &n);
    if (class == CLASS_LETTER)
        return skip_class(p + n, end, CLASS_LETTER);
    if (class == CLASS_NUMBER)
        return up_to_three_numbers(p, end);
    if (p + n < end && !is_break(*p) &&
        class_at(p + n, end, &n2) == CLASS_LETTER)
        return skip_class(p + n, end, CLASS_LETTER);
    others = cl100k_others(p, end, "\r\n");
    return others ? others : cl100k_space(p, end, whole_tail);
}

/* In o200k's words capitals come first; what has no case may be on both sides,
 * and so may marks. */
enum { FIRST = 1, THEN = 2 };

static inline int side_at(const uint8_t *p, const uint8_t *end, size_t *n)
{
    static const uint8_t side[] = {
        [CLASS_LETTER | CASE_NONE << 2] = FIRST | THEN,
        [CLASS_LETTER | CASE_UPPER << 2] = FIRST,
        [CLASS_LETTER | CASE_LOWER << 2] = THEN,
        [CLASS_OTHER | CASE_MARK << 2] = FIRST | THEN,
    };
    uint32_t c = *p;

    *n = 1;
    if (c >= 0x80)
        *n = utf8_decode(p, end, &c);
    return c == UTF8_BAD ? 0 : side[class_and_case(c)];
}

/* Where a word ends, which has something of the second side or need not; or
 * NULL.  An expression gives back of the first side what the second needs. */
static const uint8_t *o200k_word(const uint8_t *p, const uint8_t *end,
                                 bool then)
{
    const uint8_t *const begin = p, *both = NULL;
    int side = 0;
    size_t n;

    for (; p < end && ((side = side_at(p, end, &n)) & FIRST); p += n)
        if (side & THEN)
            both = p + n;
    if (p < end && side == THEN) {
        while (p < end && (side_at(p, end, &n) & THEN))
            p += n;
        return p;
    }
    if (then)
        return both;
    return p > begin ? p : NULL;
}

static const uint8_t *o200k_piece(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *others;
    size_t n;
    const int class = class_at(p, end, &n);
    const bool leads = /* one character before a word */
        class != CLASS_LETTER && class != CLASS_NUMBER && !is_break(*p);

    if (class == CLASS_NUMBER)
        return up_to_three_numbers(p, end);
    for (int then = 1; then >= 0; then--) {
        const uint8_t *word = leads ? o200k_word(p + n, end, then) : NULL;

        if (!word)
            word = o200k_word(p, end, then);
        if (word)
            return word + any_case_contraction(word, end);
    }
    others = cl100k_others(p, end, "\r\n/");
    return others ? others : cl100k_space(p, end, false);
}

size_t split_gpt2_plain(const uint8_t *text, const uint8_t *end, uint32_t *stop,
                        size_t max)
{
    const uint8_t *p = text;
    size_t n = 0;

    while (p < end && n < max) {
        p = split_gpt2_piece(p, end);
        stop[n++] = (uint32_t)(p - text);
    }
    return n;
}

static size_t cl100k(const uint8_t *text, const uint8_t *end, uint32_t *stop,
                     size_t max, bool whole_tail)
{
    const uint8_t *p = text;
    size_t n = 0;

    while (p < end && n < max) {
        p = cl100k_piece(p, end, whole_tail);
        stop[n++] = (uint32_t)(p - text);
    }
    return n;
}

static size_t split_cl100k(const uint8_t *text, const uint8_t *end,
                           uint32_t *stop, size_t max)
{
    return cl100k(text, end, stop, max, true);
}

static size_t split_llama3(const uint8_t *text, const uint8_t *end,
                           uint32_t *stop, size_t max)
{
    return cl100k(text, end, stop, max, false);
}

static size_t split_o200k(const uint8_t *text, const uint8_t *end,
                          uint32_t *stop, size_t max)
{
    const uint8_t *p = text;
    size_t n = 0;

    while (p < end && n < max) {
        p = o200k_piece(p, end);
        stop[n++] = (uint32_t)(p - text);
    }
    return n;
}

split_fn *split_gpt2_by(const char *name)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (strcmp(name, "sse2") == 0)
        return split_gpt2_sse2;
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("bmi2"))
        return split_gpt2_avx2;
    if (strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi2"))
        return split_gpt2_avx512;
#endif
    return strcmp(name, "plain") == 0 ? split_gpt2_plain : NULL;
}

static split_fn *gpt2_best(void)
{
    static const char *const best_first[] = { "avx512", "avx2", "sse2" };

    for (size_t i = 0; i < sizeof best_first / sizeof best_first[0]; i++) {
        split_fn *const fn = split_gpt2_by(best_first[i]);

        if (fn)
            return fn;
    }
    return split_gpt2_plain;
}

split_fn *split_by(enum split kind)
{
    switch (kind) {
    case SPLIT_CL100K:
        return split_cl100k;
    case SPLIT_LLAMA3:
        return split_llama3;
    case SPLIT_O200K:
        return split_o200k;
    default:
        return gpt2_best();
    }
}

/*
 * The patterns as Oniguruma takes them, which Hugging Face uses: there $ is the
 * end of a line, and {1,3}+ not possessive, so tiktoken's own would not do.
 */
static const struct {
    const char *name, *pattern;
} splits[SPLIT_COUNT] = {
    [SPLIT_GPT2] = { "gpt2", "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| "
                             "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+" },
    [SPLIT_CL100K] = { "cl100k",
                       "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
                       "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+\\z|"
                       "\\s*[\\r\\n]|\\s+(?!\\S)|\\s" },
    [SPLIT_LLAMA3] = { "llama3",
                       "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?"
                       "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
                       "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" },
    [SPLIT_O200K] = { "o200k",
                      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}"
                      "\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
                      "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
                      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}"
                      "\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
                      "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
                      "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|"
                      "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" },
};

/* Other ways to write the same. */
static const struct {
    const char *pattern;
    enum split split;
} others[] = {
    { "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
      "\\s+(?!\\S)|\\s+",
      SPLIT_GPT2 },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
      SPLIT_LLAMA3 },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      SPLIT_LLAMA3 },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      SPLIT_LLAMA3 },
};

const char *split_name(enum split kind)
{
    return splits[kind].name;
}

const char *split_pattern(enum split kind)
{
    return splits[kind].pattern;
}

int split_from_name(const char *name)
{
    for (int i = 0; i < SPLIT_COUNT; i++)
        if (strcmp(splits[i].name, name) == 0)
            return i;
    return -1;
}

int split_from_pattern(const char *pattern)
{
    for (int i = 0; i < SPLIT_COUNT; i++)
        if (strcmp(splits[i].pattern, pattern) == 0)
            return i;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i].pattern, pattern) == 0)
            return (int)others[i].split;
    return -1;
}
