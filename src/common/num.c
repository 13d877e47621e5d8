#include "config.h"
#include "common/num.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

/* strtod() that never accepts blanks, hexadecimal or the locale's comma. */
static bool real_prefix(const char *s, double *x, const char **rest)
{
    static locale_t c_locale;
    char *end;

    if (!c_locale)
        c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (*s == '\0' || strchr(" \t\n\v\f\r", *s) || strpbrk(s, "xX"))
        return false;
    *x = strtod_l(s, &end, c_locale);
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
