#include "config.h"
#include "store/analysis/planned_rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"

enum { BYTES_MAX = 1 << 28 };

static void write_line(struct buf *out, int64_t step, double rate)
{
    buf_printf(out, "%lld\t%.9g\n", (long long)step, rate);
}

/* A line is extended while some line from its first point passes close enough
 * to all points so far: while the slope to the next one is between low and
 * high. */
void planned_rates_write(struct buf *out, planned_rate_fn *rate_at,
                         const void *arg, int64_t steps)
{
    double first = rate_at(arg, 0), last = first, most = fabs(first);
    double low = (double)-INFINITY, high = (double)INFINITY;
    int64_t from = 0;

    for (int64_t i = 1; i < steps; i++)
        most = fmax(most, fabs(rate_at(arg, (double)i)));
    buf_str(out, "step\tlearning rate\n");
    write_line(out, 0, first);
    for (int64_t i = 1; i < steps; i++) {
        const double rate = rate_at(arg, (double)i), near = 1e-6 * most;
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
    char *path = path_join(run->artifacts, PLANNED_RATES);
    struct buf text = BUF_INIT;
    int ret;

    *r = (struct planned_rates){ 0 };
    ret = buf_read_open(&text, path_open_inside(path, run_info_inside(run), e),
                        path, BYTES_MAX, e);
    if (ret == 0)
        planned_rates_read(r, text.s);
    ret = err_allow(ret, ERR_MISSING, e);
    buf_clear(&text);
    free(path);
    return ret;
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
