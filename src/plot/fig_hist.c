/*
 * fig_hist - how the histograms of a run change over its steps
 *
 * A map: a column is a step, a row is a range of values, and the colour is the
 * part of the values that are in it.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>

#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "store/analysis/histogram.h"

enum { ROWS = 32, ROWS_OF_TERMINAL = 16, COLUMNS = 48, LISTED = 12 };
enum { MOST_TICKS = 8 };

struct ends {
    double lo, hi;
};

static struct ends find_ends(const struct histograms *all)
{
    struct ends r = { INFINITY, -INFINITY };

    for (size_t i = 0; i < all->n; i++) {
        r.lo = fmin(r.lo, all->item[i].edge[0]);
        r.hi = fmax(r.hi, all->item[i].edge[all->item[i].n]);
    }
    return r;
}

static double total(const struct histogram *h)
{
    double sum = 0;

    for (size_t i = 0; i < h->n; i++)
        sum += h->count[i];
    return sum;
}

/* The value below which half of the values are, if they are spread evenly in
 * their bins. */
static double median(const struct histogram *h)
{
    double left = total(h) / 2;

    for (size_t i = 0; i < h->n; i++) {
        if (h->count[i] > 0 && left <= h->count[i])
            return h->edge[i] +
                   (h->edge[i + 1] - h->edge[i]) * left / h->count[i];
        left -= h->count[i];
    }
    return h->edge[0];
}

/* Percent of the values from lo to hi, if they are spread evenly in their bins.
 */
static double percent(const struct histogram *h, double lo, double hi)
{
    const double all = total(h);
    double sum = 0;

    for (size_t i = 0; i < h->n; i++) {
        const double from = fmax(lo, h->edge[i]);
        const double to = fmin(hi, h->edge[i + 1]);

        if (to > from)
            sum += h->count[i] * (to - from) / (h->edge[i + 1] - h->edge[i]);
    }
    return all > 0 ? 100 * sum / all : 0;
}

/* The histogram of a column, if there are more than columns. */
static const struct histogram *choose(const struct histograms *all, size_t col,
                                      size_t columns)
{
    const size_t at =
        columns > 1 ? (col * (all->n - 1) + (columns - 1) / 2) / (columns - 1)
                    : 0;

    return &all->item[at];
}

/* The ends of columns that are spaced evenly, or nearly so.  Few columns, and
 * others, have their steps instead. */
static bool find_steps(const struct histograms *all, size_t n, struct ends *r)
{
    const double first = (double)all->item[0].step;
    const double all_steps = (double)all->item[all->n - 1].step - first;
    const double apart = all_steps / (double)(n > 1 ? n - 1 : 1);
    bool even = n > MOST_TICKS;

    for (size_t x = 0; x < n; x++)
        even = even && fabs((double)choose(all, x, n)->step - first -
                            apart * (double)x) < apart;
    *r = (struct ends){ first - apart / 2, first + apart * ((double)n - 0.5) };
    return even;
}

static struct heat *make_map(struct figure *f, const struct histograms *all,
                             size_t rows)
{
    struct heat *h = arena_alloc(&f->mem, sizeof *h);
    const struct ends r = find_ends(all);
    const double high = (r.hi - r.lo) / (double)rows;

    *h = (struct heat){
        .nx = all->n < COLUMNS ? all->n : COLUMNS,
        .ny = rows,
        .label = "percent",
        .digits = 1,
        .best = SIZE_MAX,
    };
    h->x_name = arena_alloc(&f->mem, h->nx * sizeof *h->x_name);
    h->y_name = arena_alloc(&f->mem, h->ny * sizeof *h->y_name);
    h->value = arena_alloc(&f->mem, h->nx * h->ny * sizeof *h->value);
    for (size_t y = 0; y < h->ny; y++)
        h->y_name[y] =
            arena_printf(&f->mem, "%.3g", r.lo + ((double)y + 0.5) * high);
    for (size_t x = 0; x < h->nx; x++) {
        const struct histogram *one = choose(all, x, h->nx);

        h->x_name[x] = arena_printf(&f->mem, "%lld", (long long)one->step);
        for (size_t y = 0; y < h->ny; y++) {
            const double lo = r.lo + (double)y * high;
            const double v = percent(one, lo, lo + high);

            h->value[y * h->nx + x] = v;
            h->hi = fmax(h->hi, v);
        }
    }
    return h;
}

static void fill_table(struct table *t, const struct histograms *all,
                       size_t rows)
{
    *t = TABLE_INIT("gplot.hist/1");
    table_columns(t, "step", "values", "lowest", "median", "highest", NULL);
    for (size_t i = 0; i < rows; i++) {
        const struct histogram *h = choose(all, i, rows);

        table_int(t, h->step);
        table_real(t, total(h));
        table_real(t, h->edge[0]);
        table_real(t, median(h));
        table_real(t, h->edge[h->n]);
    }
}

/* Ticks at round values, which are within rows or columns. */
static void round_ticks(struct axis *a, struct arena *mem, struct ends r,
                        size_t rows)
{
    struct axis y;

    axis_init(&y, "", UNIT_NONE);
    axis_range(&y, r.lo, r.hi, 0);
    axis_ticks(&y, mem, MOST_TICKS);
    for (size_t i = 0; i < y.n_ticks; i++)
        y.tick[i].at =
            (y.tick[i].at - r.lo) / (r.hi - r.lo) * (double)rows - 0.5;
    a->tick = y.tick;
    a->n_ticks = y.n_ticks;
}

static void draw_map(struct build *b, const char *name,
                     const struct histograms *all)
{
    const bool fine = b->request->output || b->request->columns;
    struct figure *f = b->figure;
    struct panel *p = figure_panel(
        f, arena_printf(&f->mem, "%s of %s", name, b->set.run[0].name));
    struct ends steps;

    p->heat = make_map(f, all, fine ? ROWS : ROWS_OF_TERMINAL);
    axis_init(&p->x, "step", UNIT_NONE);
    axis_init(&p->y, arena_strdup(&f->mem, name), UNIT_NONE);
    axis_names(&p->x, &f->mem, p->heat->x_name, p->heat->nx, MOST_TICKS);
    axis_names(&p->y, &f->mem, p->heat->y_name, p->heat->ny, MOST_TICKS);
    if (find_steps(all, p->heat->nx, &steps))
        round_ticks(&p->x, &f->mem, steps, p->heat->nx);
    round_ticks(&p->y, &f->mem, find_ends(all), p->heat->ny);
    figure_note(f, "Colours show the percentage of the values in each range.");
    if (p->heat->nx < all->n)
        figure_note(f, "%zu of %zu histograms are drawn.", p->heat->nx, all->n);
    if (b->summary)
        fill_table(b->summary, all, all->n < LISTED ? all->n : LISTED);
}

int fig_hist_draw(struct build *b, const char *name, struct err *e)
{
    AUTO(histograms_free) struct histograms all = { 0 };
    int ret;

    if (b->set.n != 1)
        return err_usage(e, "gplot hist draws one run, and %zu are selected",
                         b->set.n);
    ret = histograms_load(&all, &b->set.run[0], name, e);
    if (ret == 0)
        draw_map(b, name, &all);
    return ret;
}

static int build_hist(struct build *b, struct err *e)
{
    return figure_runs(b, 1, e) < 0 ? -1 : fig_hist_draw(b, b->words[0], e);
}

static const struct opt hist_opts[] = {
    COMMON_OPTS, SWEEP_OPT, LOOK_OPTS, OUT_OPTS, { 0 }
};

const struct cmd fig_hist = {
    .name = "hist",
    .args = "NAME RUN",
    .help = "draw how histograms change over the steps of a run",
    .opts = hist_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_hist, 2,
                                        "a histogram and a run are" },
};
