#include "config.h"
#include "plot/smooth.h"

#include <math.h>
#include <stdio.h>
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

    if (strcmp(text, "none") == 0 || strcmp(text, "auto") == 0) {
        *out = (struct smooth){ *text == 'n' ? SMOOTH_NONE : SMOOTH_AUTO, 0 };
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

void smooth_ema(double beta, const double *in, const double *block,
                const uint32_t *points, double *out, size_t n)
{
    double mean = 0, weight = 0;

    for (size_t i = 0; i < n; i++) {
        const double kept = points ? pow(beta, points[i]) : beta;

        if (points ? points[i] > 0 : isfinite(in[i])) {
            mean = kept * mean + (1 - kept) * (block ? block[i] : in[i]);
            weight = kept * weight + (1 - kept);
        }
        out[i] = isfinite(in[i]) ? mean / weight : in[i];
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
    AUTO_FREE struct sum *head =
        xcalloc(n, sizeof *head); /* from the beginning of a block */
    AUTO_FREE struct sum *tail =
        xcalloc(n, sizeof *tail); /* to the end of a block */
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
}

static void gauss_narrow(double sigma, const double *in, double *out, size_t n)
{
    const size_t reach = (size_t)fmin(ceil(4 * sigma), (double)n);
    AUTO_FREE double *weight = xcalloc(reach + 1, sizeof *weight);

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
}

/* The points of a block: how many, their sum, and the sum of their places. */
struct block {
    double n, y, x;
};

static struct block *make_blocks(const double *in, size_t n, size_t wide)
{
    struct block *b = xcalloc(n / wide + 2, sizeof *b);

    for (size_t i = 0; i < n; i++) {
        struct block *to = &b[i / wide];

        if (isfinite(in[i])) {
            to->n++;
            to->y += in[i];
            to->x += (double)i;
        }
    }
    return b;
}

double smooth_early(double sigma, double before)
{
    return fmin(sigma, fmax(before / 3, 0.1));
}

/* How much a block counts whose points are so far from the middle. */
static double weigh(double far, double sigma)
{
    return exp(-0.5 * (far / sigma) * (far / sigma));
}

/* How many blocks a window reaches on each side. */
static size_t reach(double sigma, size_t wide, size_t blocks)
{
    return (size_t)fmin(4 * sigma / (double)wide, (double)blocks);
}

/* The weights of full blocks around a place, and around any one that is a
 * number of blocks after it. */
static double *weights_of(double sigma, size_t wide, size_t blocks,
                          size_t place)
{
    const size_t far = reach(sigma, wide, blocks);
    double *full = xcalloc(2 * far + 1, sizeof *full);

    for (size_t k = 0; k <= 2 * far; k++)
        full[k] = weigh(((double)k - (double)far) * (double)wide +
                            (double)(wide - 1) / 2 - (double)(place % wide),
                        sigma);
    return full;
}

/* The weighted mean around a place; `full` may be NULL. */
static double block_mean(const struct block *b, size_t blocks, size_t wide,
                         double sigma, double place, const double *full)
{
    const size_t at = (size_t)place / wide, far = reach(sigma, wide, blocks);
    double sum = 0, total = 0;

    for (size_t k = at > far ? at - far : 0; k < blocks && k <= at + far; k++) {
        const double weight =
            full && b[k].n == (double)wide ? full[k + far - at]
            : b[k].n > 0 ? weigh(b[k].x / b[k].n - place, sigma)
                         : 0;

        sum += weight * b[k].y;
        total += weight * b[k].n;
    }
    return sum / total;
}

/*
 * The points from `from` on, before `to`, by blocks of at most a sixteenth of
 * sigma, each at the mean place of its points.  The mean is computed at the
 * first point of each block; between these, where it hardly bends, it is
 * interpolated.
 */
static void gauss_blocks(double sigma, const double *in, double *out,
                         size_t from, size_t to, size_t n)
{
    const size_t wide = from / 48 > 1 ? from / 48 : 1;
    const size_t all = n / 3 < to ? n : 3 * to; /* a window reaches 7/3 to */
    const size_t blocks = (all + wide - 1) / wide;
    AUTO_FREE struct block *b = make_blocks(in, all, wide);
    /* windows have become equally wide */
    AUTO_FREE double *full = smooth_early(sigma, (double)from) < sigma
                                 ? NULL
                                 : weights_of(sigma, wide, blocks, from);
    double last = NAN, next = NAN;

    for (size_t i = from; i < to; i++) {
        const size_t at = (i - from) % wide;
        const double place = (double)(i - at + wide);

        if (at == 0) {
            last = i > from ? next
                            : block_mean(b, blocks, wide,
                                         smooth_early(sigma, (double)i),
                                         (double)i, full);
            next = block_mean(b, blocks, wide, smooth_early(sigma, place),
                              place, full);
        }
        out[i] = isfinite(in[i])
                     ? last + (next - last) * (double)at / (double)wide
                     : in[i];
    }
}

/* A copy without spikes of one step or two, which would become hills: values
 * that are on one side of the values two steps before and after, by ten times
 * the usual difference. */
static double *without_spikes(const double *in, size_t n)
{
    enum { FAR = 10, NEAR = 2 };
    double *out = xcalloc(n + 1, sizeof *out);
    size_t known = 0;
    double far;

    for (size_t i = 1; i < n; i++)
        if (isfinite(in[i] - in[i - 1]))
            out[known++] = fabs(in[i] - in[i - 1]);
    far = known ? FAR * num_nth(out, known, known / 2) : 0;
    memcpy(out, in, n * sizeof *out);
    for (size_t i = NEAR; i + NEAR < n && far > 0; i++) {
        const double before = in[i] - in[i - NEAR];
        const double after = in[i] - in[i + NEAR];

        if ((before > far && after > far) || (before < -far && after < -far))
            out[i] = (in[i - NEAR] + in[i + NEAR]) / 2;
    }
    return out;
}

static void gauss(double sigma, const double *in, double *out, size_t n)
{
    const size_t early = (size_t)fmin(3 * sigma, (double)n);
    AUTO_FREE double *calm = without_spikes(in, n);

    if (sigma < 64)
        gauss_narrow(sigma, calm, out, n);
    else
        gauss_blocks(sigma, calm, out, early, n, n);
    for (size_t from = 0, to; from < early; from = to) {
        to = from > 96 ? 2 * from : 192;
        to = to < early ? to : early;
        gauss_blocks(sigma, calm, out, from, to, n);
    }
}

void smooth_apply(const struct smooth *s, const double *in, double *out,
                  size_t n)
{
    if (s->kind == SMOOTH_EMA)
        smooth_ema(s->amount, in, NULL, NULL, out, n);
    else if (s->kind == SMOOTH_MA)
        ma((size_t)s->amount, in, out, n);
    else if (s->kind == SMOOTH_GAUSS)
        gauss(s->amount, in, out, n);
    else
        memcpy(out, in, n * sizeof *out);
}

double smooth_points(const struct smooth *how)
{
    return how->kind == SMOOTH_EMA     ? 1 / (1 - how->amount)
           : how->kind == SMOOTH_MA    ? how->amount
           : how->kind == SMOOTH_GAUSS ? 2 * how->amount
                                       : 1;
}

char *smooth_name(char out[80], const struct smooth *s, double most)
{
    static const char *const name[] = {
        [SMOOTH_AUTO] = "by scatter",
        [SMOOTH_NONE] = "nothing",
        [SMOOTH_EMA] = "exponential moving average, "
                       "\xce\xb2 = ",
        [SMOOTH_MA] = "moving average of ",
        [SMOOTH_GAUSS] = "Gaussian, \xcf\x83 = ",
    };

    char to[24] = "";

    if (most > s->amount)
        snprintf(to, sizeof to, " to %.7g", most);
    snprintf(out, 80, "%s%.7g%s%s", name[s->kind], s->amount, to,
             s->kind == SMOOTH_MA || s->kind == SMOOTH_GAUSS ? " points" : "");
    return out;
}
