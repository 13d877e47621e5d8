#include "config.h"
#include "track/runs/importance.h"

#include <math.h>
#include <string.h>

#include "common/num.h"
#include "common/stats/paired.h"

/* The runs, as values of one parameter and results. */
struct sample {
    const struct runs *runs;
    const struct column *params;
    size_t n_params;
    const char ***value; /* of each parameter, for each run */
    double *result;      /* NaN: it does not count */
    bool *failed;
    struct arena *mem;
};

/* -- values ---------------------------------------------------------------- */

/* The value of a run; "0.001" and "1e-3" are one. */
static const char *value_of(const struct sample *s, size_t param, size_t run)
{
    const char *text = run_info_param(&s->runs->run[run], s->params[param].key);
    char number[NUM_TEXT];
    double x;

    if (!text)
        return "none";
    if (!num_real(text, &x))
        return text;
    num_shortest(number, x);
    if (str_ends(number, ".0"))
        number[strlen(number) - 2] = '\0';
    return arena_strdup(s->mem, number);
}

static const char **sorted_values(const struct sample *s, size_t param)
{
    const size_t n = s->runs->n;
    const char **sorted = arena_alloc(s->mem, (n + 1) * sizeof *sorted);

    memcpy(sorted, s->value[param], n * sizeof *sorted);
    SORT(sorted, n, num_by_text);
    return sorted;
}

/* Part numbers that are mostly different into a few groups of equal size. */
static void group_values(struct sample *s, size_t param)
{
    enum { GROUPS = 5 };
    const char **value = s->value[param], **sorted = sorted_values(s, param);
    const char *name[GROUPS], *hi[GROUPS];
    const size_t n = s->runs->n;
    size_t different = 0;
    double x;

    for (size_t i = 0; i < n; i++) {
        if (!num_real(sorted[i], &x))
            return;
        different += i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0;
    }
    if (different <= 2 * GROUPS || 3 * different < n)
        return;
    for (size_t g = 0; g < GROUPS; g++) {
        hi[g] = sorted[(g + 1) * n / GROUPS - 1];
        name[g] =
            arena_printf(s->mem, "%s to %s", sorted[g * n / GROUPS], hi[g]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t g = 0;

        while (num_by_text(&value[i], &hi[g]) > 0)
            g++;
        value[i] = name[g];
    }
}

/* -- means ----------------------------------------------------------------- */

/* The place of a value; p->n: it is new. */
static size_t find_value(const struct importance_param *p, const char *text)
{
    size_t i = 0;

    while (i < p->n && strcmp(p->value[i].text, text) != 0)
        i++;
    return i;
}

/* The values of a parameter, in their order. */
static void list_values(const struct sample *s, size_t param,
                        struct importance_param *p)
{
    const char **sorted = sorted_values(s, param);

    for (size_t i = 0; i < s->runs->n; i++) {
        if (find_value(p, sorted[i]) < p->n)
            continue;
        p->value = arena_grow(s->mem, p->value, p->n, sizeof *p->value);
        p->value[p->n++] = (struct importance_value){ .text = sorted[i] };
    }
}

static void average(const struct sample *s, const char **value,
                    struct importance_value *v)
{
    AUTO_FREE double *x = xcalloc(s->runs->n + 1, sizeof *x);
    struct paired mean;

    for (size_t i = 0; i < s->runs->n; i++) {
        if (strcmp(value[i], v->text) != 0)
            continue;
        v->failed += s->failed[i] ? 1 : 0;
        if (!isnan(s->result[i]))
            x[v->runs++] = s->result[i];
    }
    mean = paired_independent(x, v->runs);
    v->mean = mean.mean;
    v->half = paired_half(&mean, 0.05);
}

/* What the means explain of the variance, less what as many means of random
 * groups would. */
static double explained(const struct sample *s, const char **value,
                        const struct importance_param *p)
{
    double sum = 0, mean, within = 0, total = 0;
    size_t n = 0, groups = 0;

    for (size_t i = 0; i < s->runs->n; i++) {
        sum += isnan(s->result[i]) ? 0 : s->result[i];
        n += isnan(s->result[i]) ? 0 : 1;
    }
    mean = sum / (double)n;
    for (size_t i = 0; i < s->runs->n; i++) {
        const double x = s->result[i];
        double d;

        if (isnan(x))
            continue;
        total += (x - mean) * (x - mean);
        d = x - p->value[find_value(p, value[i])].mean;
        within += d * d;
    }
    for (size_t i = 0; i < p->n; i++)
        groups += p->value[i].runs > 0 ? 1 : 0;
    if (n <= groups || total <= 0)
        return (double)NAN;
    return fmax(0,
                1 - within / (double)(n - groups) / (total / (double)(n - 1)));
}

/* -- the best value -------------------------------------------------------- */

/* Do two runs have equal values of all other parameters? */
static bool is_pair(const struct sample *s, size_t param, size_t a, size_t b)
{
    for (size_t i = 0; i < s->n_params; i++)
        if (i != param && strcmp(s->value[i][a], s->value[i][b]) != 0)
            return false;
    return true;
}

/* The differences of runs with one value and with another. */
static struct paired compare(const struct sample *s, size_t param,
                             const char *one, const char *other)
{
    const char **value = s->value[param];
    AUTO_FREE double *d = xcalloc(s->runs->n + 1, sizeof *d);
    size_t n = 0;

    for (size_t i = 0; i < s->runs->n; i++) {
        if (isnan(s->result[i]) || strcmp(value[i], one) != 0)
            continue;
        for (size_t k = 0; k < s->runs->n; k++) {
            if (isnan(s->result[k]) || strcmp(value[k], other) != 0 ||
                !is_pair(s, param, i, k))
                continue;
            d[n++] = s->result[k] - s->result[i];
            break;
        }
    }
    return paired_independent(d, n);
}

static void choose_best(const struct sample *s, size_t param, bool high,
                        struct importance_param *p)
{
    const double sign = high ? -1 : 1;
    struct importance_value *v = p->value;
    struct paired pairs;

    p->best = p->next = p->n;
    for (size_t i = 0; i < p->n; i++) {
        if (v[i].runs == 0)
            continue;
        if (p->best == p->n || sign * v[i].mean < sign * v[p->best].mean) {
            p->next = p->best;
            p->best = i;
        } else if (p->next == p->n ||
                   sign * v[i].mean < sign * v[p->next].mean) {
            p->next = i;
        }
    }
    p->gap = p->half = (double)NAN;
    if (p->next == p->n)
        return;
    pairs = compare(s, param, v[p->best].text, v[p->next].text);
    p->gap = sign * (v[p->next].mean - v[p->best].mean);
    p->half = hypot(v[p->best].half, v[p->next].half);
    if (pairs.freedom < 1)
        return;
    p->gap = sign * pairs.mean;
    p->half = paired_half(&pairs, 0.05);
    p->pairs = pairs.n;
}

/* -- all together ---------------------------------------------------------- */

static int by_share(const void *a, const void *b)
{
    const struct importance_param *x = a, *y = b;
    const double p = isnan(x->share) ? -1 : x->share;
    const double q = isnan(y->share) ? -1 : y->share;

    return (p < q) - (p > q);
}

/* The results of the runs that count, and which of the others failed. */
static void take_results(struct importance *im, struct sample *s,
                         const struct column *metric)
{
    for (size_t i = 0; i < s->runs->n; i++) {
        const struct run_info *r = &s->runs->run[i];
        const struct metric_sum *m = run_info_metric(r, metric->key);
        const bool running =
            r->status == RUN_RUNNING || r->status == RUN_SCHEDULED;

        s->result[i] = column_number(metric, r);
        s->failed[i] = !running &&
                       (r->status != RUN_FINISHED || (m && !isfinite(m->last)));
        if (running || s->failed[i] || !isfinite(s->result[i]))
            s->result[i] = (double)NAN;
        im->failed += s->failed[i] ? 1 : 0;
        im->running += running ? 1 : 0;
    }
}

static void weigh(struct importance *im, const struct sample *s, size_t param)
{
    struct importance_param p = {
        .name = arena_strdup(s->mem, s->params[param].key),
    };

    list_values(s, param, &p);
    for (size_t i = 0; i < p.n; i++)
        average(s, s->value[param], &p.value[i]);
    if (p.n < 2)
        return;
    p.share = explained(s, s->value[param], &p);
    choose_best(s, param, im->high, &p);
    im->param[im->n++] = p;
}

void importance_find(struct importance *im, const struct runs *runs,
                     const struct column *params, size_t n,
                     const struct column *metric, struct arena *mem)
{
    struct sample s = {
        .runs = runs,
        .params = params,
        .n_params = n,
        .mem = mem,
        .value = arena_alloc(mem, (n + 1) * sizeof *s.value),
        .result = arena_alloc(mem, (runs->n + 1) * sizeof *s.result),
        .failed = arena_alloc(mem, runs->n + 1),
    };
    size_t counted = 0;

    *im = (struct importance){
        .metric = arena_strdup(mem, metric->title),
        .high = column_direction(metric) > 0,
        .runs = runs->n,
        .param = arena_alloc(mem, (n + 1) * sizeof *im->param),
    };
    take_results(im, &s, metric);
    for (size_t i = 0; i < runs->n; i++)
        counted += isnan(s.result[i]) ? 0 : 1;
    for (size_t k = 0; k < n; k++) {
        s.value[k] = arena_alloc(mem, (runs->n + 1) * sizeof *s.value[k]);
        for (size_t i = 0; i < runs->n; i++)
            s.value[k][i] = value_of(&s, k, i);
        group_values(&s, k);
    }
    for (size_t k = 0; k < n && counted >= IMPORTANCE_LEAST; k++)
        weigh(im, &s, k);
    SORT(im->param, im->n, by_share);
}

/* -- sentences ------------------------------------------------------------- */

/* "0.120 ± 0.004": the interval has one digit, or two if the first is 1; the
 * difference has at most three. */
static void say_difference(struct buf *b, double gap, double half)
{
    const double size = floor(log10(fmax(half, 1e-12)));
    const double most = 2 - floor(log10(fmax(gap, 1e-12)));
    const double fine = (half / pow(10, size) < 2) - size;
    const int digits = (int)fmax(0, fmin(fine, most));

    buf_printf(b, "%.*f ± %.*f", digits, gap, digits, half);
}

static bool is_clear(const struct importance_param *p)
{
    return p->gap > p->half;
}

static bool is_seed(const struct importance_param *p)
{
    return strstr(p->name, "seed") != NULL;
}

static void say_first(const struct importance *im, struct buf *b)
{
    const struct importance_param *p = &im->param[0];

    if (!(p->share >= 0.1) || is_seed(p)) {
        buf_printf(b, "No parameter explains much of %s.", im->metric);
        return;
    }
    buf_printf(b,
               "%s explains %s of %s (%.0f%% of the variance): the best is "
               "%s, with a mean of %.4g",
               p->name, p->share >= 0.5 ? "most" : "a part", im->metric,
               100 * p->share, p->value[p->best].text, p->value[p->best].mean);
    if (is_clear(p)) {
        buf_printf(b, ", better than %s by ", p->value[p->next].text);
        say_difference(b, p->gap, p->half);
    } else if (p->next < p->n) {
        buf_printf(b, ", but these runs do not tell it from %s",
                   p->value[p->next].text);
    }
    buf_char(b, '.');
}

static void say_others(const struct importance *im, struct buf *b)
{
    size_t n = 0;

    for (size_t i = 1; i < im->n; i++) {
        const struct importance_param *p = &im->param[i];

        if (is_seed(p) || p->next >= p->n || !is_clear(p))
            continue;
        buf_printf(b, " %s: %s is better than %s by ", p->name,
                   p->value[p->best].text, p->value[p->next].text);
        say_difference(b, p->gap, p->half);
        buf_char(b, '.');
    }
    for (size_t i = 1; i < im->n; i++) {
        const struct importance_param *p = &im->param[i];

        if (is_seed(p) || p->next >= p->n || is_clear(p))
            continue;
        buf_printf(b, "%s%s", n++ ? ", " : " No clear difference: ", p->name);
    }
    if (n)
        buf_char(b, '.');
}

/* Have most of the runs that failed this value, and does it double the share
 * of these? */
static bool fails_more(const struct importance *im,
                       const struct importance_value *v)
{
    const double share = (double)im->failed / (double)im->runs;

    return 2 * v->failed > im->failed &&
           (double)v->failed > 2 * share * (double)(v->failed + v->runs);
}

static void say_failed(const struct importance *im, struct buf *b)
{
    size_t n = 0;

    if (im->running)
        buf_printf(b, " %zu of %zu runs have not ended.", im->running,
                   im->runs);
    if (!im->failed)
        return;
    buf_printf(b, " %zu of %zu runs failed and are not in the means",
               im->failed, im->runs);
    for (size_t i = 0; i < im->n; i++) {
        const struct importance_param *p = &im->param[i];

        for (size_t k = 0; k < p->n && !is_seed(p); k++)
            if (fails_more(im, &p->value[k]) && n < 3)
                buf_printf(b, "%s%zu of them with %s = %s", n++ ? ", " : ": ",
                           p->value[k].failed, p->name, p->value[k].text);
    }
    buf_char(b, '.');
}

void importance_say(const struct importance *im, struct buf *b)
{
    if (im->n) {
        say_first(im, b);
        say_others(im, b);
    }
    say_failed(im, b);
}
