#include "config.h"
#include "common/num.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

static locale_t without_comma;

static void open_locale(void)
{
    without_comma = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Where a number has no comma. */
static locale_t c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_locale);
    return without_comma;
}

/* strtod() that never accepts blanks, hexadecimal or the locale's comma. */
static bool real_prefix(const char *s, double *x, const char **rest)
{
    char *end;

    if (*s == '\0' || strchr(" \t\n\v\f\r", *s) || strpbrk(s, "xX"))
        return false;
    *x = strtod_l(s, &end, c_locale());
    *rest = end;
    return end != s;
}

static bool with_unit(const char *s, const struct unit *units, double *out)
{
    const char *rest;
    double x;

    if (!real_prefix(s, &x, &rest) || !isfinite(x))
        return false;
    if (*rest) {
        while (units->name && strcmp(units->name, rest) != 0)
            units++;
        if (!units->name)
            return false;
        x *= units->factor;
    }
    *out = x;
    return true;
}

bool num_int(const char *s, int64_t *out)
{
    static const struct unit units[] = {
        { "k", 1e3 }, { "K", 1e3 },  { "M", 1e6 }, { "G", 1e9 },
        { "B", 1e9 }, { "T", 1e12 }, { NULL, 0 },
    };
    char *end;
    long long n;
    double x;

    if (*s == '\0' || strchr(" \t\n\v\f\r", *s))
        return false;
    errno = 0;
    n = strtoll(s, &end, 10);
    if (*end == '\0' && end != s && errno == 0) {
        *out = n;
        return true;
    }
    if (!with_unit(s, units, &x))
        return false;
    x = rint(x * 1e6) / 1e6; /* 1.1k is 1100, though 1.1 * 1000 is not */
    if (x != floor(x) || fabs(x) > 9007199254740992.0)
        return false;
    *out = (int64_t)x;
    return true;
}

int64_t num_whole(double x)
{
    const double most = 9007199254740992.0;

    return isnan(x) ? 0 : (int64_t)fmax(-most, fmin(x, most));
}

int num_by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    double p, q;

    if (num_real(*x, &p) && num_real(*y, &q) && p != q)
        return p < q ? -1 : 1;
    return strcmp(*x, *y);
}

size_t num_place(const int64_t *v, size_t n, int64_t x)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (v[mid] < x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void num_sort(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_size);
}

size_t num_unique(double *v, size_t n)
{
    size_t kept = 0;

    num_sort(v, n);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[i] > v[kept - 1])
            v[kept++] = v[i];
    return kept;
}

double num_nth(double *v, size_t n, size_t k)
{
    const ptrdiff_t at = (ptrdiff_t)k;

    for (ptrdiff_t lo = 0, hi = (ptrdiff_t)n - 1; lo < hi;) {
        const double pivot = v[k];
        ptrdiff_t i = lo, j = hi;

        do {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                const double swap = v[i];

                v[i++] = v[j];
                v[j--] = swap;
            }
        } while (i <= j);
        if (j < at)
            lo = i;
        if (at < i)
            hi = j;
    }
    return v[k];
}

bool num_size(const char *s, uint64_t *out)
{
    static const struct unit units[] = {
        /* clang-format off */
        { "B", 1 },
        { "K", 1024.0 }, { "KB", 1024.0 }, { "KiB", 1024.0 },
        { "M", 0x1p20 }, { "MB", 0x1p20 }, { "MiB", 0x1p20 },
        { "G", 0x1p30 }, { "GB", 0x1p30 }, { "GiB", 0x1p30 },
        { "T", 0x1p40 }, { "TB", 0x1p40 }, { "TiB", 0x1p40 },
        { NULL, 0 },
        /* clang-format on */
    };
    double x;

    if (!with_unit(s, units, &x) || x < 0 || x > 9007199254740992.0)
        return false;
    *out = (uint64_t)x;
    return true;
}

bool num_real(const char *s, double *out)
{
    const char *rest;
    double x;

    if (!real_prefix(s, &x, &rest))
        return false;
    if (strcmp(rest, "%") == 0)
        x /= 100.0;
    else if (*rest)
        return false;
    *out = x;
    return true;
}

bool num_secs(const char *s, double *out)
{
    static const struct unit units[] = {
        { "ms", 1e-3 }, { "s", 1 },     { "min", 60 }, { "m", 60 },
        { "h", 3600 },  { "d", 86400 }, { NULL, 0 },
    };
    double sum = 0;

    do {
        const struct unit *u = units;
        const char *rest;
        double x;

        if (!real_prefix(s, &x, &rest) || !(x >= 0) || isinf(x))
            return false;
        if (*rest == '\0') {
            if (sum > 0)
                return false; /* "2h30": of what? */
            *out = x;
            return true;
        }
        while (u->name && strncmp(u->name, rest, strlen(u->name)) != 0)
            u++;
        if (!u->name)
            return false;
        sum += x * u->factor;
        s = rest + strlen(u->name);
    } while (*s);
    *out = sum;
    return true;
}

bool num_bool(const char *s, bool *out)
{
    static const char *const words[] = { "false", "true", "no", "yes",
                                         "off",   "on",   "0",  "1" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(s, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    }
    return false;
}

char *num_comma(char out[NUM_TEXT], int64_t n)
{
    char digits[NUM_TEXT];
    const int len = snprintf(digits, sizeof digits, "%" PRIu64,
                             n < 0 ? -(uint64_t)n : (uint64_t)n);
    char *at = out;

    if (n < 0)
        *at++ = '-';
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return out;
}

char *num_count(char out[NUM_TEXT], int64_t n, const char *noun)
{
    size_t len;

    num_comma(out, n);
    len = strlen(out);
    snprintf(out + len, NUM_TEXT - len, " %s%s", noun, n == 1 ? "" : "s");
    return out;
}

char *num_short(char out[NUM_TEXT], double n)
{
    static const char *const units[] = { "", "k", "M", "B", "T", "P", "E" };
    size_t u = 0;

    while (fabs(n) >= 999.5 && u + 1 < sizeof units / sizeof units[0]) {
        n /= 1000.0;
        u++;
    }
    if (u == 0 && n == floor(n))
        snprintf(out, NUM_TEXT, "%.0f", n);
    else
        snprintf(out, NUM_TEXT, "%.*f%s", fabs(n) < 10 ? 2 : fabs(n) < 100, n,
                 units[u]);
    return out;
}

char *num_bytes(char out[NUM_TEXT], double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t u = 0;

    while (fabs(bytes) >= 1023.5 && u + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024.0;
        u++;
    }
    snprintf(out, NUM_TEXT, "%.*f %s",
             u == 0             ? 0
             : fabs(bytes) < 10 ? 2
                                : fabs(bytes) < 100,
             bytes, units[u]);
    return out;
}

char *num_duration(char out[NUM_TEXT], double seconds)
{
    const double whole = floor(fmin(seconds, 1e15) + 0.5);
    const int64_t s = (int64_t)whole;

    if (!(seconds < 1e15))
        snprintf(out, NUM_TEXT, "?");
    else if (seconds < 9.95)
        snprintf(out, NUM_TEXT, "%.1fs", seconds);
    else if (s < 60)
        snprintf(out, NUM_TEXT, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(out, NUM_TEXT, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, NUM_TEXT, "%" PRId64 "h%02" PRId64 "m", s / 3600,
                 s / 60 % 60);
    else
        snprintf(out, NUM_TEXT, "%" PRId64 "d%02" PRId64 "h", s / 86400,
                 s / 3600 % 24);
    return out;
}

/*
 * A double as the shortest text that reads back as the same.
 *
 * Both ways multiply or divide once, by a power of ten that long double holds
 * exactly, so they know the result but for its last bit.  Where that bit could
 * decide, and beyond these powers, printf() and strtod() compute it, which are
 * exact but slow.
 *
 * Measured on an EPYC with AVX-512 over a million float32 losses as doubles:
 * writing takes 86 ns, where printf("%.17g") of glibc 2.36 takes 157 and does
 * not find the shortest; reading takes 38 ns, where strtod() takes 86.
 */
enum { MOST_POWER = 27 }; /* 5^27 has 63 bits */

/* x * 10^k, rounded once. */
static long double scale(long double x, int k)
{
    static const long double power[MOST_POWER + 1] = {
        1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
    };

    return k < 0 ? x / power[-k] : x * power[k];
}

/* -- reading ----------------------------------------------------------- */

/* n * 10^k; false if that takes strtod(). */
static bool times_power(uint64_t n, int k, double *out)
{
    long double x;

    if (k < -MOST_POWER || k > MOST_POWER)
        return false;
    x = scale((long double)n, k);
    *out = (double)(x - x * LDBL_EPSILON);
    return *out == (double)(x + x * LDBL_EPSILON);
}

static double by_strtod(const char *s, const char *end)
{
    const size_t n = (size_t)(end - s);
    char small[128], *text = n < sizeof small ? small : malloc(n + 1);
    double x;

    if (!text)
        return (double)NAN;
    memcpy(text, s, n);
    text[n] = '\0';
    x = strtod_l(text, NULL, c_locale());
    if (text != small)
        free(text);
    return x;
}

/* inf, infinity, nan, in any case. */
static const char *parse_word(const char *s, const char *end, bool negative,
                              double *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {
        { "infinity", (double)INFINITY },
        { "inf", (double)INFINITY },
        { "nan", (double)NAN },
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t n = strlen(words[i].word);

        if ((size_t)(end - s) >= n && strncasecmp(s, words[i].word, n) == 0) {
            *out = negative ? -words[i].value : words[i].value;
            return s + n;
        }
    }
    return NULL;
}

static bool is_digit(const char *s, const char *end)
{
    return s < end && *s >= '0' && *s <= '9';
}

struct digits {
    uint64_t n; /* the first 19 significant ones */
    int count, exponent;
    bool cut; /* there were more */
};

static const char *take_digits(const char *s, const char *end, struct digits *d,
                               bool fraction)
{
    while (end - s >= 8 && d->count <= 19 - 8 && (d->n || *s != '0')) {
        const int n = num_eight(s, &d->n);

        d->count += n;
        d->exponent -= fraction ? n : 0;
        s += n;
        if (n < 8)
            return s;
    }
    for (; is_digit(s, end); s++) {
        if (d->count < 19) {
            d->n = d->n * 10 + (uint64_t)(*s - '0');
            d->count += d->n != 0;
            d->exponent -= fraction;
        } else {
            d->cut = d->cut || *s != '0';
            d->exponent += !fraction;
        }
    }
    return s;
}

static const char *take_exponent(const char *s, const char *end, int *exponent)
{
    const char *const start = s++;
    const bool negative = s < end && *s == '-';
    int n = 0;

    s += s < end && (*s == '-' || *s == '+');
    if (!is_digit(s, end))
        return start;
    for (; is_digit(s, end); s++)
        if (n < 100000)
            n = n * 10 + (*s - '0');
    *exponent += negative ? -n : n;
    return s;
}

const char *num_parse(const char *s, const char *end, double *out)
{
    const char *const start = s;
    const bool negative = s < end && *s == '-';
    struct digits d = { 0, 0, 0, false };
    const char *first;
    double x;
    int seen;

    s += s < end && (*s == '-' || *s == '+');
    first = s;
    s = take_digits(s, end, &d, false);
    seen = (int)(s > first);
    if (s < end && *s == '.') {
        const char *const point = ++s;

        s = take_digits(s, end, &d, true);
        seen |= s > point;
    }
    if (!seen)
        return parse_word(first, end, negative, out);
    if (s < end && (*s == 'e' || *s == 'E'))
        s = take_exponent(s, end, &d.exponent);
    if (d.n == 0) {
        x = 0;
    } else if (d.cut || !times_power(d.n, d.exponent, &x)) {
        *out = by_strtod(start, s);
        return s;
    }
    *out = negative ? -x : x;
    return s;
}

/* -- writing ----------------------------------------------------------- */

struct decimal { /* digits * 10^exponent */
    uint64_t digits;
    int exponent;
};

/* The nearest decimal of n digits. */
static struct decimal nearest(double x, int n)
{
    struct decimal d = { 0, 0 };
    char text[NUM_TEXT];
    const char *at = text;

    snprintf(text, sizeof text, "%.*e", n - 1, x);
    for (; *at != 'e'; at++) /* the point depends on the locale */
        if (*at >= '0' && *at <= '9')
            d.digits = d.digits * 10 + (uint64_t)(*at - '0');
    d.exponent = (int)strtol(at + 1, NULL, 10) - (n - 1);
    return d;
}

static bool is_read_as(struct decimal d, double x)
{
    char text[NUM_TEXT];
    double y;

    if (!times_power(d.digits, d.exponent, &y)) {
        const int n = snprintf(text, sizeof text, "%llue%d",
                               (unsigned long long)d.digits, d.exponent);

        y = by_strtod(text, text + n);
    }
    return y == x;
}

/* Try n digits, or more if these are too few.  Up to DBL_DIG digits, no two
 * decimals are the same double.  Above a power of two, doubles lie twice as far
 * apart as below, so that the decimal above may be read as this double although
 * the nearest is not. */
static struct decimal by_reading_back(double x, int n)
{
    int exponent;
    const bool is_power = frexp(x, &exponent) <= 0.5;
    struct decimal d;

    for (; n < DBL_DECIMAL_DIG; n++) {
        d = nearest(x, n);
        if (is_read_as(d, x))
            return d;
        d.digits++;
        if (is_power && is_read_as(d, x))
            return d;
    }
    return nearest(x, DBL_DECIMAL_DIG);
}

/* Of x in units of its 17th digit, the product knows all but a hundredth at
 * most; half the way to the next double is up to 11 of them. */
static struct decimal shortest(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    /* the shift is floor((exponent - 1) * log10(2)) */
    int k = DBL_DECIMAL_DIG - 1 - ((exponent - 1) * 78913 >> 18), n = DBL_DIG;
    long double scaled;
    double part, half, unsure;
    int64_t whole;

    if (x < 1e15 && x == (double)(int64_t)x)
        return (struct decimal){ (uint64_t)x, 0 };
    if (x < DBL_MIN || fraction <= 0.5 || k <= -MOST_POWER || k > MOST_POWER)
        return by_reading_back(x, x < DBL_MIN ? 1 : n);
    scaled = scale((long double)x, k);
    if (scaled >= scale(1, DBL_DECIMAL_DIG))
        scaled = scale((long double)x, --k);
    whole = (int64_t)scaled;
    part = (double)(scaled - (long double)whole);
    half = (double)scaled / fraction * 0x1p-54;
    unsure = (double)scaled * 0x1p-63;
    for (int64_t unit = 100; unit > 0; unit /= 10, n++) {
        const int64_t below = unit == 100  ? whole / 100 * 100
                              : unit == 10 ? whole / 10 * 10
                                           : whole;
        const double rest = (double)(whole - below) + part;
        const double middle = (double)unit / 2;
        const double distance = rest > middle ? (double)unit - rest : rest;

        if (fabs(distance - half) < unsure ||
            (distance < half && fabs(rest - middle) < unsure))
            break;
        if (distance < half || unit == 1)
            return (struct decimal){
                (uint64_t)(below + (rest > middle ? unit : 0)), -k
            };
    }
    return by_reading_back(x, n);
}

/* As in Python, only numbers below 1e-04 and from 1e+16 on get an exponent. */
static char *lay_out(char *out, struct decimal d)
{
    char digits[20];
    int begin = sizeof digits, n, exponent, whole;
    bool has_exponent;

    for (; d.digits % 10 == 0; d.digits /= 10)
        d.exponent++;
    for (; d.digits; d.digits /= 10)
        digits[--begin] = (char)('0' + d.digits % 10);
    n = (int)sizeof digits - begin;
    exponent = d.exponent + n - 1;
    has_exponent = exponent < -4 || exponent >= 16;
    whole = has_exponent ? 1 : exponent + 1; /* digits before the point */
    for (int i = whole < 1 ? whole - 1 : 0; i < n || i < whole + !has_exponent;
         i++) {
        if (i == whole)
            *out++ = '.';
        *out++ = i >= 0 && i < n ? digits[begin + i] : '0';
    }
    if (has_exponent)
        out += snprintf(out, 6, "e%+03d", exponent);
    return out;
}

int num_shortest(char out[NUM_TEXT], double x)
{
    const char *const word = isnan(x)   ? "nan"
                             : isinf(x) ? "inf"
                             : x == 0   ? "0.0"
                                        : NULL;
    char *at = out;

    if (signbit(x) && !isnan(x))
        *at++ = '-';
    if (word)
        return (int)(stpcpy(at, word) - out); /* style: unsafe */
    at = lay_out(at, shortest(fabs(x)));
    *at = '\0';
    return (int)(at - out);
}
