/*
 * attention - softmax(q k' scale) v over earlier positions; rotary positions
 *
 *      s(t,u) = scale q(t).k(u),  u <= t      p = softmax over u of s
 *      s(t,u) = -infinity where t - u is the window or more, or where u is
 *               before the document of t
 *      y(t) = sum over u of m(t,u) p(t,u) v(u)
 *
 * where m is dropout's mask, 0 or 1 / (1 - p).  Backward, with
 * g(t,u) = m(t,u) dy(t).v(u),
 *
 *      ds = p (g - delta),   delta(t) = sum over u of p g = dy(t).y(t)
 *      dq(t) = scale sum ds k,   dk(u) = scale sum ds q,   dv(u) = sum m p dy
 */
#include "config.h"
#include "common/mem.h"
#include "common/rng.h"
#include "kernels/ref.h"

#include <math.h>

void ref_rope(struct dev *dev UNUSED, struct tensor *qkv, int H, int K,
              int64_t T, int64_t from, const struct rope *r, bool inverse)
{
    const int64_t N = tensor_rows(qkv), row = tensor_cols(qkv);
    const int64_t D = row / (H + 2 * K);

    assert(D % 2 == 0);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t i = 0; i < D / 2; i++) {
            const double rate =
                pow((double)r->theta, -2.0 * (double)i / (double)D);
            const double angle =
                (double)(from + n % T) * rope_scaled(r, i, rate);
            const double c = r->length * cos(angle);
            const double s = r->length * (inverse ? -sin(angle) : sin(angle));

            for (int64_t h = 0; h < H + K; h++) {
                const int64_t at = n * row + h * D + i;
                const double a = ref_get(qkv, at);
                const double b = ref_get(qkv, at + D / 2);

                ref_set(qkv, at, a * c - b * s);
                ref_set(qkv, at + D / 2, b * c + a * s);
            }
        }
    }
}

static double dropout_factor(const struct attn *a, int64_t i)
{
    if (a->drop.p <= 0.0f)
        return 1.0;
    if (rng_uniform(a->drop.seed, a->drop.stream, a->drop.first + (uint64_t)i) <
        a->drop.p)
        return 0.0;
    return 1.0 / (1.0 - (double)a->drop.p);
}

static double dot(const struct tensor *x, int64_t i, const struct tensor *y,
                  int64_t j, int64_t n)
{
    return ref_dot(0.0, x, i, 1, y, j, 1, n);
}

/* Scores to probabilities, in place; returns log(sum(exp(scores))). */
static double softmax(double *s, int64_t n)
{
    double max = -INFINITY, sum = 0.0;

    for (int64_t i = 0; i < n; i++)
        max = s[i] > max ? s[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += s[i] = exp(s[i] - max);
    for (int64_t i = 0; i < n; i++)
        s[i] /= sum;
    return max + log(sum);
}

/* The first element in qkv of the query, key and value of head h of row n. */
struct head_offsets {
    int64_t q, k, v;
};

static struct head_offsets head_offsets(const struct attn *a, int64_t n,
                                        int64_t h)
{
    const int64_t row = (int64_t)(a->H + 2 * a->K) * a->D;
    const int64_t group = h * a->K / a->H;

    return (struct head_offsets){
        .q = n * row + h * a->D,
        .k = n * row + (a->H + group) * a->D,
        .v = n * row + (a->H + a->K + group) * a->D,
    };
}

/* p(u), u = 0..t, of head h of row n, whose sequence begins at row first. */
static double probabilities(double *p, const struct tensor *qkv,
                            const struct attn *a, int64_t first, int64_t n,
                            int64_t h)
{
    const int64_t q = head_offsets(a, n, h).q;

    for (int64_t u = 0; u <= n - first; u++)
        p[u] =
            u < attn_first(a, n)
                ? -(double)INFINITY
                : (double)a->scale *
                      dot(qkv, q, qkv, head_offsets(a, first + u, h).k, a->D);
    return softmax(p, n - first + 1);
}

void ref_attn_fwd(struct dev *dev UNUSED, struct tensor *y, struct tensor *lse,
                  const struct tensor *qkv, const struct attn *a)
{
    const int64_t N = tensor_rows(y), H = a->H, D = a->D, T = a->T;
    AUTO_FREE double *p = xcalloc((size_t)T, sizeof *p);

    assert(N % T == 0 && tensor_cols(y) == H * D && H % a->K == 0);
    for (int64_t i = 0; i < N * H; i++) {
        const int64_t n = i / H, h = i % H, t = n % T, first = n - t;

        ref_set(lse, (n / T * H + h) * T + t,
                probabilities(p, qkv, a, first, n, h));
        for (int64_t u = 0; u <= t; u++)
            p[u] *= dropout_factor(a, ((n / T * H + h) * T + t) * T + u);
        for (int64_t d = 0; d < D; d++) {
            double sum = 0.0;

            for (int64_t u = 0; u <= t; u++)
                sum += p[u] * ref_get(qkv, head_offsets(a, first + u, h).v + d);
            ref_set(y, i * D + d, sum);
        }
    }
}

void ref_attn_bwd(struct dev *dev UNUSED, struct tensor *dqkv,
                  const struct tensor *qkv, const struct tensor *y,
                  const struct tensor *lse UNUSED, const struct tensor *dy,
                  const struct attn *a)
{
    const int64_t N = tensor_rows(dy), H = a->H, D = a->D, T = a->T;
    const int64_t count = tensor_count(qkv);
    AUTO_FREE double *sum = xcalloc((size_t)count, sizeof *sum);
    AUTO_FREE double *p = xcalloc((size_t)T, sizeof *p);
    AUTO_FREE double *g = xcalloc((size_t)T, sizeof *g);

    for (int64_t i = 0; i < N * H; i++) {
        const int64_t n = i / H, h = i % H, t = n % T, first = n - t;
        const int64_t q = head_offsets(a, n, h).q;
        const double delta = dot(dy, i * D, y, i * D, D);

        probabilities(p, qkv, a, first, n, h);
        for (int64_t u = 0; u <= t; u++) {
            const double m =
                dropout_factor(a, ((n / T * H + h) * T + t) * T + u);
            const int64_t v = head_offsets(a, first + u, h).v;

            g[u] = m * dot(dy, i * D, qkv, v, D);
            for (int64_t d = 0; d < D; d++)
                sum[v + d] += m * p[u] * ref_get(dy, i * D + d);
        }
        for (int64_t u = 0; u <= t; u++) {
            const int64_t k = head_offsets(a, first + u, h).k;
            const double ds = (double)a->scale * p[u] * (g[u] - delta);

            for (int64_t d = 0; d < D; d++) {
                sum[q + d] += ds * ref_get(qkv, k + d);
                sum[k + d] += ds * ref_get(qkv, q + d);
            }
        }
    }
    for (int64_t i = 0; i < count; i++)
        ref_add(dqkv, i, sum[i]);
}

void ref_attn_decode(struct dev *dev UNUSED, struct tensor *y,
                     struct tensor *keys, struct tensor *values,
                     const struct tensor *qkv, int64_t at, const struct attn *a)
{
    const int64_t N = tensor_rows(y), H = a->H, K = a->K, D = a->D, T = a->T;
    const int64_t each = N / keys->dim[0];
    AUTO_FREE double *p = xcalloc((size_t)T, sizeof *p);

    assert(N % keys->dim[0] == 0 && (each == 1 || at + each <= T));
    for (int64_t i = 0; i < N * K * D; i++) {
        const int64_t row = i / (K * D), j = i % (K * D);
        const int64_t from = row * (H + 2 * K) * D + H * D + j;
        const int64_t place = row / each * T + (at + row % each) % T;

        ref_set(keys, place * K * D + j, ref_get(qkv, from));
        ref_set(values, place * K * D + j, ref_get(qkv, from + K * D));
    }
    for (int64_t i = 0; i < N * H; i++) {
        const int64_t row = i / H, h = i % H, group = h * K / H;
        const int64_t b = row / each, t = at + row % each;
        const int64_t n = t < T ? t + 1 : T;

        for (int64_t u = 0; u < n; u++)
            p[u] = !attn_sees(a, (t % T - u + T) % T)
                       ? -(double)INFINITY
                       : (double)a->scale *
                             dot(qkv, row * (H + 2 * K) * D + h * D, keys,
                                 ((b * T + u) * K + group) * D, D);
        softmax(p, n);
        for (int64_t d = 0; d < D; d++) {
            double sum = 0.0;

            for (int64_t u = 0; u < n; u++)
                sum +=
                    p[u] * ref_get(values, ((b * T + u) * K + group) * D + d);
            ref_set(y, i * D + d, sum);
        }
    }
}

void ref_attn_store(struct dev *dev UNUSED, struct tensor *keys,
                    struct tensor *values, const struct tensor *qkv,
                    const struct attn *a)
{
    const int64_t N = tensor_rows(qkv), T = a->T, C = (int64_t)a->K * a->D;

    assert(T <= keys->dim[1] && N == keys->dim[0] * T);
    for (int64_t n = 0; n < N; n++) {
        const int64_t from = n * (a->H + 2 * a->K) * a->D + a->H * a->D;
        const int64_t to = (n / T * keys->dim[1] + n % T) * C;

        for (int64_t c = 0; c < C; c++) {
            ref_set(keys, to + c, ref_get(qkv, from + c));
            ref_set(values, to + c, ref_get(qkv, from + C + c));
        }
    }
}
