#include "config.h"
#include "data/token/pretokenize.h"

#include <string.h>

#include "common/format/unicode.h"
#include "common/utf8.h"
#include "data/token/pretokenize_impl.h"

/* The class of the character at p, and its length in bytes. */
static inline int class_at(const uint8_t *p, const uint8_t *end, size_t *n)
{
    uint32_t c;

    if (*p < 0x80) {
        *n = 1;
        return unicode_ascii[*p];
    }
    *n = utf8_decode(p, end, &c);
    if (c != UTF8_BAD)
        return unicode_class(c);
    *n = 1;
    return UNICODE_OTHER;
}

/* The end of a sequence of characters of one class. */
static const uint8_t *skip_class(const uint8_t *p, const uint8_t *end,
                                 int class)
{
    size_t n;

    while (p < end && class_at(p, end, &n) == class)
        p += n;
    return p;
}

/* The end of the white space at p, and its last character. */
static const uint8_t *skip_space(const uint8_t *p, const uint8_t *end,
                                 const uint8_t **last)
{
    size_t n;

    while (p < end && class_at(p, end, &n) == UNICODE_SPACE) {
        *last = p;
        p += n;
    }
    return p;
}

/* The length of the contraction at p, or 0 if there is none. */
static size_t contraction_at(const uint8_t *p, const uint8_t *end)
{
    return *p == '\'' && end - p > 1
               ? pretokenize_contraction(p[1], end - p > 2 ? p[2] : 0)
               : 0;
}

/* The pieces of gpt2 and of digits, where each number is a piece, and white
 * space before it is not divided. */
static inline const uint8_t *spaced_piece(const uint8_t *p, const uint8_t *end,
                                          bool digits)
{
    const uint8_t *begin = p, *last = p;
    const size_t len = contraction_at(p, end);
    size_t n, n2;
    int class;

    if (len > 0)
        return p + len;
    class = class_at(p, end, &n);
    if (digits && class == UNICODE_NUMBER)
        return p + n;
    if (*p == ' ' && end - p > 1) {
        const int next = class_at(p + 1, end, &n2);

        if (next != UNICODE_SPACE && !(digits && next == UNICODE_NUMBER))
            return skip_class(p + 1 + n2, end, next);
    }
    if (class != UNICODE_SPACE)
        return skip_class(p + n, end, class);
    p = skip_space(p, end, &last);
    if (p == end || last == begin ||
        (digits && class_at(p, end, &n) == UNICODE_NUMBER))
        return p;
    return last;
}

const uint8_t *pretokenize_gpt2_piece(const uint8_t *p, const uint8_t *end)
{
    return spaced_piece(p, end, false);
}

/* Like contraction_at(), for contractions in either case. */
static size_t any_case_contraction_at(const uint8_t *p, const uint8_t *end)
{
    const size_t n = (size_t)(end - p);
    size_t len;

    if (n < 2 || *p != '\'')
        return 0;
    len = pretokenize_contraction(p[1] | 0x20, n > 2 ? p[2] | 0x20 : 0);
    if (len > 0)
        return len;
    /* U+017F, the long s, has the capital S */
    return n > 2 && p[1] == 0xC5 && p[2] == 0xBF ? 3 : 0;
}

static bool is_line_break(uint8_t c)
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
    while (line > p && !is_line_break(line[-1]))
        line--;
    if (line > p)
        return line;
    return stop == end || last == p ? stop : last;
}

static const uint8_t *skip_numbers(const uint8_t *p, const uint8_t *end,
                                   int most)
{
    size_t n;

    for (int i = 0; i < most && p < end; i++, p += n)
        if (class_at(p, end, &n) != UNICODE_NUMBER)
            break;
    return p;
}

/* The end of a sequence of others, with a space before it and any of `joining`
 * after it; NULL if there is none. */
static const uint8_t *cl100k_others(const uint8_t *p, const uint8_t *end,
                                    const char *joining)
{
    const uint8_t *const begin = p + (*p == ' ');

    p = skip_class(begin, end, UNICODE_OTHER);
    if (p == begin)
        return NULL;
    while (p < end && *p && strchr(joining, *p))
        p++;
    return p;
}

/* The pieces of cl100k, llama3 and qwen2, which differ in white space at the
 * end and in how many numbers are a piece. */
static inline const uint8_t *common_piece(const uint8_t *p, const uint8_t *end,
                                          bool whole_tail, int numbers)
{
    const size_t short_form = any_case_contraction_at(p, end);
    const uint8_t *others;
    size_t n, n2;
    int class;

    if (short_form > 0)
        return p + short_form;
    class = class_at(p, end, &n);
    if (class == UNICODE_LETTER)
        return skip_class(p + n, end, UNICODE_LETTER);
    if (class == UNICODE_NUMBER)
        return skip_numbers(p, end, numbers);
    if (p + n < end && !is_line_break(*p) &&
        class_at(p + n, end, &n2) == UNICODE_LETTER)
        return skip_class(p + n, end, UNICODE_LETTER);
    others = cl100k_others(p, end, "\r\n");
    return others ? others : cl100k_space(p, end, whole_tail);
}

/* In o200k upper-case letters are the head of a word and lower-case letters its
 * tail; letters without case and marks may be part of both. */
enum { HEAD = 1, TAIL = 2 };

static inline int word_part_at(const uint8_t *p, const uint8_t *end, size_t *n)
{
    static const uint8_t parts[] = {
        [UNICODE_LETTER | UNICODE_NO_CASE << 2] = HEAD | TAIL,
        [UNICODE_LETTER | UNICODE_UPPER << 2] = HEAD,
        [UNICODE_LETTER | UNICODE_LOWER << 2] = TAIL,
        [UNICODE_OTHER | UNICODE_MARK << 2] = HEAD | TAIL,
    };
    uint32_t c = *p;

    *n = 1;
    if (c >= 0x80)
        *n = utf8_decode(p, end, &c);
    return c == UTF8_BAD ? 0 : parts[unicode_class_and_case(c)];
}

/* The end of the word at p, or NULL.  If a word needs a tail and none follows
 * its head, it ends after the last letter of the head that may also be in a
 * tail, as a regular expression finds by backtracking. */
static const uint8_t *o200k_word(const uint8_t *p, const uint8_t *end,
                                 bool needs_tail)
{
    const uint8_t *const begin = p, *both = NULL;
    int part = 0;
    size_t n;

    for (; p < end && ((part = word_part_at(p, end, &n)) & HEAD); p += n)
        if (part & TAIL)
            both = p + n;
    if (p < end && part == TAIL) {
        while (p < end && (word_part_at(p, end, &n) & TAIL))
            p += n;
        return p;
    }
    if (needs_tail)
        return both;
    return p > begin ? p : NULL;
}

static const uint8_t *o200k_piece(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *others;
    size_t n;
    const int class = class_at(p, end, &n);
    const bool leads = /* one such character may precede a word */
        class != UNICODE_LETTER && class != UNICODE_NUMBER &&
        !is_line_break(*p);

    if (class == UNICODE_NUMBER)
        return skip_numbers(p, end, 3);
    for (int tail = 1; tail >= 0; tail--) {
        const uint8_t *word = leads ? o200k_word(p + n, end, tail) : NULL;

        if (!word)
            word = o200k_word(p, end, tail);
        if (word)
            return word + any_case_contraction_at(word, end);
    }
    others = cl100k_others(p, end, "\r\n/");
    return others ? others : cl100k_space(p, end, false);
}

static const uint8_t *spaces_piece(const uint8_t *p, const uint8_t *end)
{
    p = memchr(p + 1, ' ', (size_t)(end - p - 1));
    return p ? p : end;
}

static const uint8_t *words_piece(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p == ' ')
        p++;
    return p < end ? spaces_piece(p, end) : end;
}

/* Find piece after piece: `piece` is where the one that begins at p ends. */
#define PRETOKENIZE(name, piece)                                               \
    static size_t pretokenize_##name(const uint8_t *text, const uint8_t *end,  \
                                     uint32_t *stop, size_t max)               \
    {                                                                          \
        const uint8_t *p = text;                                               \
        size_t n = 0;                                                          \
                                                                               \
        while (p < end && n < max) {                                           \
            p = piece;                                                         \
            stop[n++] = (uint32_t)(p - text);                                  \
        }                                                                      \
        return n;                                                              \
    }
PRETOKENIZE(gpt2_plain, pretokenize_gpt2_piece(p, end))
PRETOKENIZE(cl100k, common_piece(p, end, true, 3))
PRETOKENIZE(llama3, common_piece(p, end, false, 3))
PRETOKENIZE(o200k, o200k_piece(p, end))
PRETOKENIZE(qwen2, common_piece(p, end, false, 1))
PRETOKENIZE(digits, spaced_piece(p, end, true))
PRETOKENIZE(none, end)
PRETOKENIZE(words, words_piece(p, end))
PRETOKENIZE(spaces, spaces_piece(p, end))

static bool is_wanted(const char *name, const char *loop)
{
    return !name || strcmp(name, loop) == 0;
}

pretokenize_fn *pretokenize_gpt2_by(const char *name)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (is_wanted(name, "avx512") && __builtin_cpu_supports("avx512bw"))
        return pretokenize_gpt2_avx512;
    if (is_wanted(name, "avx2") && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("bmi2"))
        return pretokenize_gpt2_avx2;
#endif
    return is_wanted(name, "plain") ? pretokenize_gpt2_plain : NULL;
}

pretokenize_fn *pretokenize_by(enum pretokenizer kind)
{
    static pretokenize_fn *const by_kind[PRETOKENIZE_ALL] = {
        [PRETOKENIZE_CL100K] = pretokenize_cl100k,
        [PRETOKENIZE_LLAMA3] = pretokenize_llama3,
        [PRETOKENIZE_O200K] = pretokenize_o200k,
        [PRETOKENIZE_QWEN2] = pretokenize_qwen2,
        [PRETOKENIZE_DIGITS] = pretokenize_digits,
        [PRETOKENIZE_NONE] = pretokenize_none,
        [PRETOKENIZE_WORDS] = pretokenize_words,
        [PRETOKENIZE_SPACES] = pretokenize_spaces,
    };

    return by_kind[kind] ? by_kind[kind] : pretokenize_gpt2_by(NULL);
}

const char *const pretokenize_names[] = {
    [PRETOKENIZE_GPT2] = "gpt2",     [PRETOKENIZE_CL100K] = "cl100k",
    [PRETOKENIZE_LLAMA3] = "llama3", [PRETOKENIZE_O200K] = "o200k",
    [PRETOKENIZE_QWEN2] = "qwen2",   [PRETOKENIZE_DIGITS] = "digits",
    [PRETOKENIZE_COUNT] = NULL,
};

/*
 * The patterns for Oniguruma, which Hugging Face's tokenizers use.  There $
 * matches at the end of every line, and {1,3}+ is not possessive, so tiktoken's
 * own patterns would have another meaning.
 */
static const char *const patterns[PRETOKENIZE_COUNT] = {
    [PRETOKENIZE_GPT2] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| "
                         "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    [PRETOKENIZE_CL100K] =
        "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
        "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+\\z|"
        "\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
    [PRETOKENIZE_LLAMA3] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?"
                           "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
                           "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    [PRETOKENIZE_QWEN2] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?"
                          "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
                          "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    [PRETOKENIZE_DIGITS] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+|\\p{N}| "
                           "?[^\\s\\p{L}\\p{N}]+|\\s+(?=\\p{N})|"
                           "\\s+(?!\\S)|\\s+",
    [PRETOKENIZE_O200K] = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}"
                          "\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
                          "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
                          "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}"
                          "\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
                          "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
                          "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|"
                          "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
};

/* Other patterns with the same meaning. */
static const struct {
    const char *pattern;
    enum pretokenizer kind;
} others[] = {
    { "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
      "\\s+(?!\\S)|\\s+",
      PRETOKENIZE_GPT2 },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
      PRETOKENIZE_LLAMA3 },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      PRETOKENIZE_LLAMA3 },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      PRETOKENIZE_LLAMA3 },
};

const char *pretokenize_pattern(enum pretokenizer kind)
{
    return patterns[kind];
}

int pretokenize_from_pattern(const char *pattern)
{
    for (int i = 0; i < PRETOKENIZE_COUNT; i++)
        if (strcmp(patterns[i], pattern) == 0)
            return i;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i].pattern, pattern) == 0)
            return (int)others[i].kind;
    return -1;
}

/* ---- where a text may be divided ---------------------------------------- */

static bool is_printing(char c)
{
    return c > ' ' && c < 0x7f;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

size_t boundary_before_blank(const char *text, size_t n, size_t least)
{
    for (size_t i = n; i > least && i > 1; i--) {
        const char left = text[i - 2], c = text[i - 1];

        if ((c == ' ' && is_printing(left)) || (c == '\n' && is_word(left)))
            return i - 1;
    }
    return 0;
}

size_t boundary_before_space(const char *text, size_t n, size_t least)
{
    for (size_t i = n; i > least && i > 1; i--)
        if (text[i - 1] == ' ' && is_printing(text[i - 2]))
            return i - 1;
    return 0;
}

/* White space, or punctuation that no special token has in its name. */
static bool ends_phrase(uint32_t c)
{
    static const uint32_t stops[] = { 0x3001, 0x3002, 0xFF01, 0xFF0C,
                                      0xFF1A, 0xFF1B, 0xFF1F };

    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        if (c == stops[i])
            return true;
    return unicode_class(c) == UNICODE_SPACE;
}

uint32_t boundary_last_char(const uint8_t *text, size_t n, size_t *len)
{
    uint32_t c;

    for (*len = 1; *len < UTF8_MAX && *len < n; ++*len)
        if ((text[n - *len] & 0xC0) != 0x80)
            break;
    return utf8_decode(text + n - *len, text + n, &c) == *len ? c : UTF8_BAD;
}

static bool ends_in_letter(const uint8_t *s, size_t n)
{
    size_t len;
    const uint32_t c = boundary_last_char(s, n, &len);

    return c != UTF8_BAD && unicode_class(c) == UNICODE_LETTER;
}

size_t boundary_after_letter(const char *text, size_t n, size_t least)
{
    const uint8_t *const s = (const uint8_t *)text;

    for (size_t i = n; i-- > least && i > 0;) {
        uint32_t c;

        utf8_decode(s + i, s + n, &c);
        if (c != UTF8_BAD && ends_phrase(c) && ends_in_letter(s, i))
            return i;
    }
    return 0;
}

size_t boundary_between_characters(const char *text, size_t n)
{
    size_t i = n - 1;

    while (i > 1 && n - i < 4 && ((unsigned char)text[i] & 0xc0) == 0x80)
        i--;
    return i ? i : 1;
}

const char *boundary_last_word(const char *text, size_t n, const char *word,
                               size_t len)
{
    while (n >= len) {
        const char *last = memrchr(text + len - 1, word[len - 1], n - len + 1);

        if (!last)
            return NULL;
        if (memcmp(last - len + 1, word, len) == 0)
            return last - len + 1;
        n = (size_t)(last - text);
    }
    return NULL;
}

static bool is_inside(const struct boundary_word *w, const char *text, size_t n,
                      size_t at)
{
    for (size_t k = 1; k <= w->len && k <= at; k++) {
        const size_t left = n - (at - k);

        if (memcmp(text + at - k, w->text, left < w->len ? left : w->len) == 0)
            return true;
    }
    return false;
}

bool boundary_inside_words(const struct boundary_word *words, size_t n_words,
                           const char *text, size_t n, size_t at)
{
    for (size_t i = 0; i < n_words; i++)
        if (is_inside(&words[i], text, n, at))
            return true;
    return false;
}

/* A byte of the sum holds up to 255 newlines, so the sum is added to the count
 * after 128 rounds at most. */
int64_t boundary_count_lines(const char *text, size_t n)
{
    typedef uint8_t bytes16 __attribute__((vector_size(16)));
    int64_t count = 0;

    while (n >= 16) {
        const size_t rounds = n / 16 < 128 ? n / 16 : 128;
        bytes16 sum = { 0 };

        for (size_t i = 0; i < rounds; i++) {
            bytes16 v;

            memcpy(&v, text + 16 * i, sizeof v);
            sum -= (bytes16)(v == '\n');
        }
        for (int i = 0; i < 16; i++)
            count += sum[i];
        text += 16 * rounds;
        n -= 16 * rounds;
    }
    for (size_t i = 0; i < n; i++)
        count += text[i] == '\n';
    return count;
}
