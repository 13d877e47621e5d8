#include "config.h"
#include "data/corpus/roll.h"

#include "common/format/unicode.h"
#include "common/utf8.h"

/*
 * The hash of all words so far is the sum of word * base^age mod 2^64.  A ring
 * holds what it was before each of the last words, so that the hash of any
 * number of them is a difference; its bits are mixed at the end.
 */
static const uint64_t base = 0x9e3779b97f4a7c15u;

static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

void roll_powers(uint64_t power[ROLL_MAX + 1])
{
    power[0] = 1;
    for (int i = 1; i <= ROLL_MAX; i++)
        power[i] = power[i - 1] * base;
}

uint64_t roll_hash(uint64_t before, uint64_t after, uint64_t power, int64_t k)
{
    return mix_bits((after - before * power) ^ (uint64_t)k);
}

uint64_t roll_last(const struct roll *r, const uint64_t *power, int k)
{
    const uint64_t before = r->before[(uint64_t)(r->words - k) % ROLL_MAX];

    return roll_hash(before, r->all, power[k], k);
}

uint64_t roll_all(const struct roll *r)
{
    return mix_bits(r->all + (uint64_t)r->words) ^ 0x5555555555555555u;
}

static void end_word(struct roll *r, roll_fn *fn, void *arg)
{
    r->before[(uint64_t)r->words++ % ROLL_MAX] = r->all;
    r->all = r->all * base + mix_bits(r->word);
    r->in_word = false;
    fn(arg, r);
}

enum { NORMALIZE_BYTE = 0x110000 }; /* + a byte that is not UTF-8 */

/* The character at p in lower case, or -1 for a separator; *n is its length.
 * Letters, their marks, and numbers remain. */
static int32_t normalize_next(const uint8_t *p, const uint8_t *end, size_t *n)
{
    const uint8_t lower = *p | 0x20;
    uint32_t c;
    int class;

    *n = 1;
    if (*p < 0x80) {
        if (lower >= 'a' && lower <= 'z')
            return lower;
        return *p >= '0' && *p <= '9' ? *p : -1;
    }
    *n = utf8_decode(p, end, &c);
    if (c == UTF8_BAD) {
        *n = 1;
        return NORMALIZE_BYTE | *p;
    }
    class = unicode_class_and_case(c);
    if (class >> 2 == UNICODE_UPPER)
        return utf8_fold((int32_t)c);
    return (class & 3) == UNICODE_LETTER || (class & 3) == UNICODE_NUMBER ||
                   class >> 2 == UNICODE_MARK
               ? (int32_t)c
               : -1;
}

/* Chinese and Japanese have no spaces between words. */
bool roll_is_word(int32_t c)
{
    return c >= 0x3005 &&
           (c <= 0x30ff || (c >= 0x31f0 && c <= 0x31ff) ||
            (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
            (c >= 0xff66 && c <= 0xff9f) || (c >= 0x20000 && c <= 0x3ffff));
}

/* Thai, Lao, Burmese, Khmer and the scripts of their neighbours have none
 * either, but a character of them is far less than a word. */
bool roll_is_unspaced(int32_t c)
{
    return c >= 0xe00 &&
           (c <= 0xeff || (c >= 0x1000 && c <= 0x109f) ||
            (c >= 0x1780 && c <= 0x17ff) || (c >= 0x1950 && c <= 0x19ff) ||
            (c >= 0x1a20 && c <= 0x1aaf) || (c >= 0xa9e0 && c <= 0xa9ff) ||
            (c >= 0xaa60 && c <= 0xaadf));
}

void roll_text(struct roll *r, const char *text, size_t n, roll_fn *fn,
               void *arg)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;
    size_t step;

    for (; p < end; p += step) {
        const int32_t c = normalize_next(p, end, &step);
        const size_t at = (size_t)(p - (const uint8_t *)text);
        const bool alone = roll_is_word(c);

        if (r->in_word && (c < 0 || alone))
            end_word(r, fn, arg);
        if (c >= 0) {
            r->unspaced |= roll_is_unspaced(c);
            if (!r->in_word) {
                r->begin[(uint64_t)r->words % ROLL_MAX] = at;
                r->word = 0;
            }
            r->end = at + step;
            r->word = (r->word + (uint64_t)c + 1) * 0xff51afd7ed558ccdu;
            r->word ^= r->word >> 29;
            r->in_word = true;
        }
        if (alone)
            end_word(r, fn, arg);
    }
}

void roll_end(struct roll *r, roll_fn *fn, void *arg)
{
    if (r->in_word)
        end_word(r, fn, arg);
}
