#include "config.h"
#include "plot/smooth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"

bool smooth_parse(const char *text, struct smooth *out)
{
    static const struct {
        const char *name;
        enum smooth_kind kind;
        double least, most;
    } kinds[] = {
        { "ema:", SMOOTH_EMA, 0, 0.9999999 },
        { "ma:", SMOOTH_MA, 1, 1e9 },
        { "gauss:", SMOOTH_GAUSS, 1e-3, 1e6 },
    };
    double amount;

    if (strcmp(text, "none") == 0) {
        *out = (struct smooth){ SMOOTH_NONE, 0 };
        return true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t n = strlen(kinds[i].name);

        if (strncmp(text, kinds[i].name, n) != 0)
            continue;
        if (!num_real(text + n, &amount) || !(amount >= kinds[i].least) ||
            !(amount <= kinds[i].most))
            return false;
        *out = (struct smooth){ kinds[i].kind, amount };
        return true;
    }
    return false;
}

static void ema(double beta, const double *in, double *out, size_t n)
{
    double mean = 0, weight = 0;

    for (size_t i = 0; i < n; i++) {
        out[i] = in[i];
        if (!isfinite(in[i]))
            continue;
        mean = beta * mean + (1 - beta) * in[i];
        weight = beta * weight + (1 - beta);
        out[i] = mean / weight;
    }
}

/* Sum and count of finite values. */
struct sum {
    double of, n;
};

static struct sum plus(struct sum a, double value)
{
    return isfinite(value) ? (struct sum){ a.of + value, a.n + 1 } : a;
}

/*
 * The points are divided into blocks as wide as the window.  A window is the
 * end of one block and the beginning of the next; the sums of all beginnings
 * and ends are computed once.  Nothing is subtracted, so that a spike does not
 * make later means less exact.
 */
static void ma(size_t width, const double *in, double *out, size_t n)
{
    struct sum *head =
        xcalloc(n, sizeof *head); /* from the beginning of a block */
    struct sum *tail = xcalloc(n, sizeof *tail); /* to the end of a block */
    const size_t before = (width - 1) / 2, after = width / 2;

    for (size_t i = 0; i < n; i++)
        head[i] = plus(i % width ? head[i - 1] : (struct sum){ 0 }, in[i]);
    for (size_t i = n; i-- > 0;)
        tail[i] =
            plus(i + 1 < n && (i + 1) % width ? tail[i + 1] : (struct sum){ 0 },
                 in[i]);
    for (size_t i = 0; i < n; i++) {
        const size_t from = i > before ? i - before : 0;
        const size_t last = i + after < n ? i + after : n - 1;
        struct sum s = from % width ? tail[from] : head[last];

        if (from / width != last / width)
            s = (struct sum){ tail[from].of + head[last].of,
                              tail[from].n + head[last].n };
        out[i] = isfinite(in[i]) ? s.of / s.n : in[i];
    }
    free(head);
    free(tail);
}

static void gauss_narrow(double sigma, const double *in, double *out, size_t n)
{
    const size_t reach = (size_t)fmin(ceil(4 * sigma), (double)n);
    double *weight = xcalloc(reach + 1, sizeof *weight);

    for (size_t k = 0; k <= reach; k++)
        weight[k] = exp(-0.5 * ((double)k / sigma) * ((double)k / sigma));
    for (size_t i = 0; i < n; i++) {
        const size_t from = i > reach ? i - reach : 0;
        const size_t to = i + reach < n ? i + reach + 1 : n;
        double sum = 0, total = 0;

        out[i] = in[i];
        if (!isfinite(in[i]))
            continue;
        for (size_t k = from; k < to; k++) {
            const double w = weight[k > i ? k - i : i - k];

            if (isfinite(in[k])) {
                sum += w * in[k];
                total += w;
            }
        }
        out[i] = sum / total;
    }
    free(weight);
}

/* The points of a block: how many, their sum, and the sum of their places. */
struct block {
    double n, y, x;
};

/* A wide window by blocks of a sixteenth of sigma, each at the mean place of
 * its points: as many operations for a point whatever the width. */
static void gauss_wide(double sigma, const double *in, double *out, size_t n)
{
    const size_t wide = (size_t)fmin(sigma / 16, (double)n);
    const size_t blocks = (n + wide - 1) / wide;
    const double reach = fmin(4 * sigma / (double)wide, (double)blocks);
    struct block *b = xcalloc(blocks + 1, sizeof *b);

    for (size_t i = 0; i < n; i++) {
        struct block *to = &b[i / wide];

        if (isfinite(in[i])) {
            to->n++;
            to->y += in[i];
            to->x += (double)i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = i / wide, far = (size_t)reach;
        double sum = 0, total = 0;

        out[i] = in[i];
        if (!isfinite(in[i]))
            continue;
        for (size_t k = at > far ? at - far : 0; k < blocks && k <= at + far;
             k++) {
            const double d =
                b[k].n > 0 ? (b[k].x / b[k].n - (double)i) / sigma : 0;

            sum += exp(-0.5 * d * d) * b[k].y;
            total += exp(-0.5 * d * d) * b[k].n;
        }
        out[i] = sum / total;
    }
    free(b);
}

static void gauss(double sigma, const double *in, double *out, size_t n)
{
    if (sigma < 64)
        gauss_narrow(sigma, in, out, n);
    else
        gauss_wide(sigma, in, out, n);
}

void smooth_apply(const struct smooth *s, const double *in, double *out,
                  size_t n)
{
    switch (s->kind) {
    case SMOOTH_NONE:
        memcpy(out, in, n * sizeof *out);
        break;
    case SMOOTH_EMA:
        ema(s->amount, in, out, n);
        break;
    case SMOOTH_MA:
        ma((size_t)s->amount, in, out, n);
        break;
    case SMOOTH_GAUSS:
        gauss(s->amount, in, out, n);
        break;
    }
}

double smooth_points(const struct smooth *how)
{
    switch (how->kind) {
    case SMOOTH_EMA:
        return 1 / (1 - how->amount);
    case SMOOTH_MA:
        return how->amount;
    case SMOOTH_GAUSS:
        return 2 * how->amount;
    case SMOOTH_NONE:
        break;
    }
    return 1;
}

char *smooth_name(char out[64], const struct smooth *s)
{
    static const char *const name[] = {
        [SMOOTH_NONE] = "nothing",
        [SMOOTH_EMA] = "exponential moving average, "
                       "\xce\xb2 = ",
        [SMOOTH_MA] = "moving average of ",
        [SMOOTH_GAUSS] = "Gaussian, \xcf\x83 = ",
    };

    snprintf(out, 64, "%s%.7g%s", name[s->kind], s->amount,
             s->kind == SMOOTH_MA || s->kind == SMOOTH_GAUSS ? " points" : "");
    return out;
}
