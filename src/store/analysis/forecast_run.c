#include "config.h"
#include "store/analysis/forecast_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/stats/scaling_law.h"

/* ---- the law ------------------------------------------------------------- */

/*
 * The law is from Tissue, Wang and Wang, "Scaling law with learning rate
 * annealing" (arXiv:2408.11029): L = L0 + A S1^-a - C S2, where S1 is the sum
 * of the learning rates so far, and S2 that of their decreases, each of which
 * has its effect gradually.  For each of some exponents, L0, A and C follow by
 * least squares from means of the losses so far; the exponent with the least
 * squares counts.  L0 is 0 where it would be negative, and what C takes off in
 * the rest of the schedule is at most a seventh of the present loss, which no
 * forecast exceeds.
 *
 * find_interval() tells how far such forecasts are off, from forecasts of
 * curves whose end is known: if the next one is like these, its error lies
 * between two of theirs with a known probability (Vovk et al., "Algorithmic
 * learning in a random world", 2005), whatever their distribution is.
 */
struct loss_curve {
    int64_t steps; /* of the whole training */
    double *loss;  /* of step i + 1; NaN: none */
    double *lr;
};

enum {
    FORECAST_LEAST = 100, /* steps before `now` */
    FORECAST_VALUES = 8   /* values, of which the first fifth is passed over */
};

enum { POINTS = 64, TERMS = 3 };

/* The factors of L0, A and C in the law: 1, S1^-a, -S2. */
struct point {
    double s1, s2, loss;
};

struct law {
    double factor[TERMS]; /* L0, A, C */
    double exponent;
};

/* The mean of the losses of the last 2 % of the steps up to this one, but of at
 * least 25 or, if they are fewer than 250, a tenth of them, or the last loss
 * before it; NaN if there is none. */
static double recent_mean(const struct loss_curve *c, int64_t step)
{
    const int64_t few = step / 10 < 25 ? step / 10 : 25;
    const int64_t n = step / 50 > few ? step / 50 : few > 0 ? few : 1;
    double sum = 0;
    int64_t found = 0;

    for (int64_t i = step - 1; i >= 0 && (i >= step - n || found == 0); i--)
        if (isfinite(c->loss[i])) {
            sum += c->loss[i];
            found++;
        }
    return found ? sum / (double)found : (double)NAN;
}

/* S1 and S2 after each step, with the highest rate as the unit. */
static void add_rates(const struct loss_curve *c, double *s1, double *s2)
{
    const double keep = 0.99;
    double top = 0, sum = 0, drop = 0, drops = 0;

    for (int64_t i = 0; i < c->steps; i++)
        top = fmax(top, c->lr[i]);
    for (int64_t i = 0; i < c->steps; i++) {
        const double rate = top > 0 ? c->lr[i] / top : 1;
        const double before = i > 0 && top > 0 ? c->lr[i - 1] / top : rate;

        sum += rate;
        drop = keep * drop + fmax(0, before - rate);
        drops += drop;
        s1[i] = sum;
        s2[i] = drops;
    }
}

/* The means of the losses from a fifth of the steps up to `now`. */
static int make_points(const struct loss_curve *c, int64_t now,
                       const double *s1, const double *s2, struct point *p)
{
    const int64_t from = now / 5;
    int n = 0;

    for (int k = 0; k < POINTS; k++) {
        const int64_t begin = from + (now - from) * k / POINTS;
        const int64_t end = from + (now - from) * (k + 1) / POINTS;
        double sum = 0;
        int64_t found = 0, steps = 0;

        for (int64_t i = begin; i < end; i++)
            if (isfinite(c->loss[i])) {
                sum += c->loss[i];
                steps += i;
                found++;
            }
        if (found > 0) {
            const int64_t middle = steps / found;

            p[n++] =
                (struct point){ s1[middle], s2[middle], sum / (double)found };
        }
    }
    return n;
}

static void terms_of(const struct point *p, double exponent, double x[TERMS])
{
    x[0] = 1;
    x[1] = pow(p->s1, -exponent);
    x[2] = -p->s2;
}

/* L0, A and C are not negative: training does not make a model worse.  As long
 * as the rate has hardly fallen, noise decides about C, so it has a bound. */
static bool fit_law(struct law *best, const struct point *p, int n, double most)
{
    double x[POINTS * TERMS], y[POINTS];
    struct least_squares l = {
        .x = x, .stride = TERMS, .y = y, .n = (size_t)n
    };
    double least = INFINITY;

    for (double exponent = 0.05; exponent <= 2; exponent += 0.05) {
        bool good;

        for (int i = 0; i < n; i++) {
            terms_of(&p[i], exponent, x + i * TERMS);
            y[i] = p[i].loss;
        }
        good = least_squares_fit(&l, TERMS) && l.factor[2] >= 0;
        if (good && l.factor[2] > most) {
            for (int i = 0; i < n; i++)
                y[i] += most * p[i].s2;
            good = least_squares_fit(&l, TERMS - 1);
            l.factor[2] = most;
        }
        good = good || least_squares_fit(&l, TERMS - 1);
        if (good && l.factor[0] < 0) { /* without L0 */
            l.x = x + 1;
            good = least_squares_fit(&l, 1);
            l.x = x;
            l.factor[1] = l.factor[0];
            l.factor[0] = 0;
        }
        if (!good || l.factor[1] < 0 || l.squares >= least)
            continue;
        least = l.squares;
        best->exponent = exponent;
        memcpy(best->factor, l.factor, sizeof best->factor);
    }
    return isfinite(least);
}

/* The loss that the law predicts; NaN if it is not positive. */
static double apply_law(const struct law *law, double s1, double s2)
{
    const struct point at = { s1, s2, 0 };
    double x[TERMS], loss = 0;

    terms_of(&at, law->exponent, x);
    for (int k = 0; k < TERMS; k++)
        loss += law->factor[k] * x[k];
    return loss > 0 ? loss : (double)NAN;
}

/* The C with which the rest of the schedule takes a seventh off the loss. */
static double most_drop(const struct loss_curve *c, int64_t now,
                        const double *s2)
{
    const double rest = s2[c->steps - 1] - s2[now - 1];

    return rest > 0 ? recent_mean(c, now) / 7 / rest : (double)INFINITY;
}

static bool falls(const struct point *p, int n)
{
    double half[2] = { 0, 0 };

    for (int i = 0; i < n; i++)
        half[i >= (n + 1) / 2] += p[i].loss;
    return half[0] / ((n + 1) / 2) > half[1] / (n / 2);
}

static int64_t step_of_point(int64_t now, int64_t steps, int point, int points)
{
    return now + (int64_t)((double)(steps - now) * (point + 1) / points);
}

/* The losses at all points; NaN for each if there are too few losses, or no law
 * fits them.  The caller frees. */
static double *forecast_points(const struct loss_curve *c, int64_t now,
                               int points)
{
    double *loss = xcalloc((size_t)points, sizeof *loss), *s1, *s2;
    struct point p[POINTS];
    struct law law = { .exponent = 0 };
    int seen;

    for (int k = 0; k < points; k++)
        loss[k] = (double)NAN;
    if (now < FORECAST_LEAST || now > c->steps)
        return loss;
    s1 = xcalloc((size_t)c->steps, sizeof *s1);
    s2 = xcalloc((size_t)c->steps, sizeof *s2);
    add_rates(c, s1, s2);
    seen = make_points(c, now, s1, s2, p);
    if (seen >= FORECAST_VALUES && falls(p, seen) &&
        fit_law(&law, p, seen, most_drop(c, now, s2)))
        for (int k = 0; k < points; k++) {
            const int64_t i = step_of_point(now, c->steps, k, points) - 1;

            loss[k] = fmin(recent_mean(c, now), apply_law(&law, s1[i], s2[i]));
        }
    FREE(s1, s2);
    return loss;
}

/* Correct a forecast by n ratios of a true loss to its forecast, which are
 * sorted; nothing is above `most`. */
static struct forecast_interval find_interval(double loss, double *ratio,
                                              int64_t n, double most)
{
    struct forecast_interval f = { fmin(loss, most), (double)NAN, (double)NAN,
                                   0 };
    int64_t cut = (n + 1) / 20; /* of each end: 90 % remain */

    if (n < 3)
        return f;
    cut = cut > 0 ? cut : 1;
    num_sort(ratio, (size_t)n);
    f.loss = fmin(loss * ratio[n / 2], most);
    f.low = fmin(loss * ratio[cut - 1], most);
    f.high = fmin(loss * ratio[n - cut], most);
    f.coverage = 1 - 2 * (double)cut / (double)(n + 1);
    return f;
}

/* ---- the runs ------------------------------------------------------------ */

enum { STEPS_MAX = 10000000, OTHERS_MAX = 200 };

/* ---- curves ----------------------------------------------------------- */

static void clear_curve(struct loss_curve *c)
{
    FREE(c->loss, c->lr);
    *c = (struct loss_curve){ 0 };
}

static int64_t last_step(const struct run_info *run)
{
    const struct metric_sum *m = run_info_metric(run, "train/lr");

    return m ? m->last_step : 0;
}

/* How many steps training takes, or took; 0 if the run does not say. */
static int64_t steps_of(const struct run_info *run,
                        const struct planned_rates *r)
{
    const char *text = run_info_param(run, "derived.steps");
    int64_t n = 0;

    if (run->status == RUN_FINISHED)
        n = last_step(run);
    else if (r->n)
        n = (int64_t)r->step[r->n - 1] + 1;
    else if (text && !num_int(text, &n))
        return 0;
    return n > 0 && n <= STEPS_MAX ? n : 0;
}

/* A series by its steps, each value standing until the next if `fill`. */
static int load_values(double *out, int64_t steps, const struct run_info *run,
                       const char *key, bool fill, struct err *e)
{
    AUTO(series_free) struct series s = { 0 };

    if (series_load(&s, run, key, 0, e) < 0)
        return -1;
    for (int64_t i = 0; i < steps; i++)
        out[i] = (double)NAN;
    for (size_t i = 0; i < s.n; i++)
        if (s.step[i] >= 1 && s.step[i] <= steps)
            out[s.step[i] - 1] = s.value[i];
    for (int64_t i = 1; fill && i < steps; i++)
        if (isnan(out[i]))
            out[i] = out[i - 1];
    for (int64_t i = steps - 1; fill && i > 0; i--)
        if (isnan(out[i - 1]))
            out[i - 1] = out[i];
    return 0;
}

/* A run that still has steps to make needs the rates that are planned. */
static int fill_curve(struct loss_curve *c, const struct run_info *run,
                      const char *key, const struct planned_rates *r,
                      bool planned, struct err *e)
{
    const int64_t now = last_step(run) > 0 ? last_step(run) : 0;
    const char *limit = run_info_param(run, "train.max_time");

    if (planned && run->status != RUN_FINISHED && limit &&
        strtod(limit, NULL) > 0)
        return err_input(e,
                         "%s has train.max_time, so its end and its learning "
                         "rates depend on the clock",
                         run->name);
    c->steps = steps_of(run, r);
    if (c->steps == 0)
        return err_set(e, ERR_MISSING,
                       "%s does not say how many steps it takes; gtrain "
                       "records that",
                       run->name);
    c->loss = xcalloc((size_t)c->steps, sizeof *c->loss);
    c->lr = xcalloc((size_t)c->steps, sizeof *c->lr);
    if (load_values(c->loss, c->steps, run, key, false, e) < 0 ||
        load_values(c->lr, c->steps, run, "train/lr", true, e) < 0)
        return -1;
    if (!planned || now >= c->steps)
        return 0;
    if (r->n)
        planned_rates_fill(r, c->lr, now, c->steps);
    else
        err_set(e, ERR_MISSING,
                "%s has no learning rates for its next steps; put them there "
                "with 'gtrain plan --only schedule --points 0 --tsv "
                "%s/config.ini >%s/" PLANNED_RATES "'",
                run->name, run->artifacts, run->artifacts);
    return r->n ? 0 : -1;
}

static int load_curve(struct loss_curve *c, const struct run_info *run,
                      const char *key, bool planned, struct err *e)
{
    AUTO(planned_rates_clear) struct planned_rates r = { 0 };

    return planned_rates_load(&r, run, e) < 0
               ? -1
               : fill_curve(c, run, key, &r, planned, e);
}

/* ---- other runs ------------------------------------------------------- */

/* The value of a run that has come further: between two values, on the line
 * through them; NaN if there are none. */
static double true_value(const struct loss_curve *c, int64_t step)
{
    int64_t before = step - 1, after = step - 1;

    while (before >= 0 && !isfinite(c->loss[before]))
        before--;
    while (after < c->steps && !isfinite(c->loss[after]))
        after++;
    if (before == after || before < 0 || after == c->steps)
        return recent_mean(c, step);
    return c->loss[before] + (c->loss[after] - c->loss[before]) *
                                 (double)(step - 1 - before) /
                                 (double)(after - before);
}

/* For each point, true value by forecast, of finished runs as far along as this
 * one. */
struct others {
    int points;
    double *ratio; /* OTHERS_MAX of each point */
    int64_t *n;
};

static void add_ratios(struct others *o, const struct loss_curve *c,
                       int64_t now)
{
    AUTO_FREE double *value = forecast_points(c, now, o->points);

    for (int k = 0; k < o->points; k++) {
        const int64_t step = step_of_point(now, c->steps, k, o->points);
        const double actual = true_value(c, step);

        if (actual > 0 && value[k] > 0 && o->n[k] < OTHERS_MAX)
            o->ratio[k * OTHERS_MAX + o->n[k]++] = actual / value[k];
    }
}

static void add_other(struct others *o, const struct run_info *run,
                      const char *key, double part)
{
    struct loss_curve c = { 0 };

    if (load_curve(&c, run, key, false, ERR_IGNORED) == 0 &&
        last_step(run) >= c.steps)
        add_ratios(o, &c, (int64_t)((double)c.steps * part));
    clear_curve(&c);
}

/* The newest finished runs of the store that have the metric. */
static void try_others(struct others *o, const struct runs *all,
                       const struct run_info *self, const char *key,
                       double part)
{
    const int last = o->points - 1;

    o->ratio = xcalloc((size_t)o->points * OTHERS_MAX, sizeof *o->ratio);
    o->n = xcalloc((size_t)o->points, sizeof *o->n);
    for (size_t i = all->n; i-- > 0 && o->n[last] < OTHERS_MAX;) {
        const struct run_info *run = &all->run[i];

        if (run->status == RUN_FINISHED && strcmp(run->id, self->id) != 0 &&
            run_info_metric(run, key))
            add_other(o, run, key, part);
    }
}

/* ---- the forecast ----------------------------------------------------- */

/* What training reaches is no worse than the present value, or guessing. */
static double worst_end(const struct run_forecast *f,
                        const struct run_info *run, const char *key)
{
    const char *text = run_info_param(run, "model.vocab");
    double vocab;

    return text && str_ends(key, "/loss") && num_real(text, &vocab) && vocab > 1
               ? fmin(f->last, log(vocab))
               : f->last;
}

static void add_points(struct run_forecast *f, const struct loss_curve *c,
                       struct others *o, double most)
{
    AUTO_FREE double *value = forecast_points(c, f->now, o->points);

    f->point = xcalloc((size_t)o->points, sizeof *f->point);
    for (int k = 0; k < o->points && isfinite(value[k]); k++)
        f->point[f->n++] = (struct forecast_point){
            step_of_point(f->now, f->steps, k, o->points),
            find_interval(value[k], o->ratio + k * OTHERS_MAX, o->n[k], most),
            o->n[k],
        };
}

static int forecast_curve(struct run_forecast *f,
                          const struct forecast_request *r,
                          const struct loss_curve *c, const struct runs *all,
                          const struct run_info *run, struct err *e)
{
    struct others o = { .points = r->points };

    f->steps = c->steps;
    f->now = last_step(run) < c->steps ? last_step(run) : c->steps;
    if (r->at > 0 && r->at < f->now)
        f->now = r->at;
    if (f->now == f->steps)
        return err_input(e,
                         "%s has made all its steps; --at forecasts it from an "
                         "earlier one",
                         run->name);
    f->last = recent_mean(c, f->now);
    try_others(&o, all, run, r->key, (double)f->now / (double)f->steps);
    add_points(f, c, &o, worst_end(f, run, r->key));
    FREE(o.ratio, o.n);
    if (f->n == r->points)
        return 0;
    return err_input(e,
                     "no law fits %s of %s up to step %lld; a forecast takes "
                     "%d steps and %d values that fall",
                     r->key, run->name, (long long)f->now, FORECAST_LEAST,
                     FORECAST_VALUES);
}

int forecast_run(struct run_forecast *f, const struct forecast_request *r,
                 const struct runs *all, const struct run_info *run,
                 struct err *e)
{
    struct loss_curve c = { 0 };
    int ret;

    *f = (struct run_forecast){ 0 };
    ret = load_curve(&c, run, r->key, true, e);
    if (ret == 0)
        ret = forecast_curve(f, r, &c, all, run, e);
    clear_curve(&c);
    return ret;
}

void forecast_run_clear(struct run_forecast *f)
{
    free(f->point);
    *f = (struct run_forecast){ 0 };
}

/* ---- rates still to come ------------------------------------------------ */

enum { BYTES_MAX = 1 << 28 };

static void write_line(struct buf *out, int64_t step, double rate)
{
    buf_printf(out, "%lld\t%.9g\n", (long long)step, rate);
}

/* A line is extended while some line from its first point passes close enough
 * to all points so far: while the slope to the next one is between low and
 * high. */
void planned_rates_write(struct buf *out, planned_rate_fn *rate_at,
                         const void *arg, double peak, int64_t steps)
{
    const double near = 1e-6 * peak;
    double first = rate_at(arg, 0), last = first;
    double low = (double)-INFINITY, high = (double)INFINITY;
    int64_t from = 0;

    buf_str(out, "step\tlearning rate\n");
    write_line(out, 0, first);
    for (int64_t i = 1; i < steps; i++) {
        const double rate = rate_at(arg, (double)i);
        const double slope = (rate - first) / (double)(i - from);

        if (slope < low || slope > high) {
            from = i - 1;
            first = last;
            write_line(out, from, first);
            low = (double)-INFINITY;
            high = (double)INFINITY;
        }
        low = fmax(low, (rate - near - first) / (double)(i - from));
        high = fmin(high, (rate + near - first) / (double)(i - from));
        last = rate;
    }
    if (steps > 1)
        write_line(out, steps - 1, last);
}

static void read_line(struct planned_rates *r, char *line)
{
    const char *step = strsep(&line, "\t"), *rate = strsep(&line, "\t");
    double *const s = &r->step[r->n], *const v = &r->rate[r->n];

    if (rate && num_real(step, s) && num_real(rate, v) && isfinite(*v) &&
        *s >= 0 && *s < 1e15 && (r->n == 0 || *s > s[-1]))
        r->n++;
}

void planned_rates_read(struct planned_rates *r, char *text)
{
    size_t lines = 1;
    char *line;

    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    *r = (struct planned_rates){ 0, xcalloc(lines, sizeof *r->step),
                                 xcalloc(lines, sizeof *r->rate) };
    while ((line = strsep(&text, "\n")))
        read_line(r, line);
}

int planned_rates_load(struct planned_rates *r, const struct run_info *run,
                       struct err *e)
{
    AUTO_FREE char *path = path_join(run->artifacts, PLANNED_RATES);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int ret;

    *r = (struct planned_rates){ 0 };
    ret = buf_read_open(&text, path_open_inside(path, run_info_inside(run), e),
                        path, BYTES_MAX, e);
    if (ret == 0)
        planned_rates_read(r, text.s);
    return err_allow(ret, ERR_MISSING, e);
}

void planned_rates_fill(const struct planned_rates *r, double *rate,
                        int64_t from, int64_t steps)
{
    size_t k = 0;

    for (int64_t i = from; i < steps; i++) {
        const double step = (double)i;
        double part;

        while (k + 1 < r->n && r->step[k + 1] <= step)
            k++;
        rate[i] = r->rate[k];
        if (k + 1 == r->n || step <= r->step[k])
            continue;
        part = (step - r->step[k]) / (r->step[k + 1] - r->step[k]);
        rate[i] += part * (r->rate[k + 1] - r->rate[k]);
    }
}

void planned_rates_clear(struct planned_rates *r)
{
    FREE(r->step, r->rate);
    *r = (struct planned_rates){ 0 };
}
