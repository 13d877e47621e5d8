#include "config.h"
#include "plot/smooth_choice.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/machine/cores.h"

enum { PARTS = 20, LEAST = 200 }; /* of fewer points, each one is drawn */

/* Of two normal numbers: half of all are nearer, in deviations. */
static const double APART = 0.95;

/* What is shown of a history: x, the values or the means of blocks, and how far
 * each is from the one before. */
struct shown {
    double *x, *y, *rough;
    size_t n, n_rough;
    double points;
};

static bool is_shown(const struct history *h, size_t i, const struct request *r)
{
    return isfinite(h->y[i]) && h->step[i] > r->skip - 1 &&
           !(h->x[i] < r->x_lo) && !(h->x[i] > r->x_hi);
}

/* How far apart two points of a block are, of which an outline has those from i
 * to end: the range of n normal numbers is about sqrt(8 ln n) - 1.1
 * deviations. */
static double block_rough(const struct history *h, size_t i, size_t end)
{
    double lo = h->y[i], hi = lo;

    for (size_t k = i; k < end; k++) {
        lo = fmin(lo, h->y[k]);
        hi = fmax(hi, h->y[k]);
    }
    return APART * (hi - lo) / (sqrt(8 * log(h->weight[i])) - 1.1);
}

/* Without an outline, each point is a block. */
static void add_blocks(struct shown *s, const struct history *h,
                       const struct request *r)
{
    for (size_t i = 0, end; i < h->n; i = end) {
        const double points = h->weight ? h->weight[i] : 1;
        const double y = h->weight ? h->mean[i] : h->y[i];

        end = i + 1;
        while (h->weight && end < h->n && h->weight[end] == 0)
            end++;
        if (!is_shown(h, i, r) || points < 1)
            continue;
        if (points > 1)
            s->rough[s->n_rough++] = block_rough(h, i, end);
        else if (s->n > 0)
            s->rough[s->n_rough++] = fabs(y - s->y[s->n - 1]);
        s->x[s->n] = h->x[i];
        s->y[s->n++] = y;
        s->points += points;
    }
}

/* The value that one in `part` is below. */
static double quantile(double *v, size_t n, size_t part)
{
    return n ? num_nth(v, n, n / part) : (double)NAN;
}

/* The change of the curve from one part of the figure to the next, between
 * medians, in the quarter of the figure where it is least. */
static double change_of(const struct shown *s)
{
    const double wide = (s->x[s->n - 1] - s->x[0]) / PARTS;
    double *part = xcalloc(s->n, sizeof *part), change[PARTS], last = NAN;
    size_t n = 0, at = 0, changes = 0;

    for (int k = 1; k <= PARTS; k++, n = 0) {
        double middle;

        for (; at < s->n && (k == PARTS || s->x[at] < s->x[0] + k * wide); at++)
            part[n++] = s->y[at];
        middle = quantile(part, n, 2);
        if (isfinite(middle) && isfinite(last))
            change[changes++] = fabs(middle - last);
        last = isfinite(middle) ? middle : last;
    }
    free(part);
    return quantile(change, changes, 4);
}

static struct smooth choose(const struct shown *s)
{
    static const double per[] = { 200, 100, 50 };
    struct smooth how = { SMOOTH_NONE, 0 };
    double scatter, change;

    if (s->points < LEAST || s->n < PARTS || !(s->x[s->n - 1] > s->x[0]))
        return how;
    scatter = quantile(s->rough, s->n_rough, 2) / APART;
    change = change_of(s);
    if (!(scatter > change))
        return how;
    how.kind = SMOOTH_GAUSS;
    for (size_t i = 0; i < sizeof per / sizeof per[0]; i++) {
        how.amount = fmax(round(s->points / per[i]), 1);
        if (scatter / sqrt(3.54 * how.amount) <= change / 4)
            break;
    }
    return how;
}

struct smooth smooth_choice(const struct history *h, const struct request *r)
{
    struct shown s = { 0 };
    struct smooth how;

    if (r->how.kind != SMOOTH_AUTO)
        return r->how;
    s.x = xcalloc(h->n + 1, sizeof *s.x);
    s.y = xcalloc(h->n + 1, sizeof *s.y);
    s.rough = xcalloc(h->n + 1, sizeof *s.rough);
    add_blocks(&s, h, r);
    how = choose(&s);
    FREE(s.x, s.y, s.rough);
    return how;
}

static void pick_one(void *arg)
{
    struct smooth_pick *p = arg;
    struct err ignored = { 0 }; /* is met again when the run is drawn */

    p->found =
        p->key && history_load(&p->h, p->run, p->key, p->r, &ignored) == 0;
    if (p->found)
        p->how = smooth_choice(&p->h, p->r);
}

static int by_amount(const void *a, const void *b)
{
    const struct smooth *x = a, *y = b;

    return (x->amount > y->amount) - (x->amount < y->amount);
}

struct smooth smooth_choice_set(const struct run_set *set,
                                const char *const *names,
                                const struct request *r,
                                struct smooth_sample *sample)
{
    enum { MOST = sizeof sample->pick / sizeof sample->pick[0] };
    const size_t every = (set->n + MOST - 1) / MOST;
    struct smooth_pick *pick = sample->pick;
    struct smooth how[MOST];
    int picks = 0;
    size_t n = 0;

    *sample = (struct smooth_sample){ 0 };
    if (r->how.kind != SMOOTH_AUTO)
        return r->how;
    for (size_t i = 0; i < set->n; i += every)
        pick[picks++] =
            (struct smooth_pick){ .run = &set->run[i],
                                  .key = history_find(&set->run[i], names),
                                  .r = r };
    threads_run(pick_one, pick, sizeof pick[0], picks);
    for (int i = 0; i < picks; i++)
        if (pick[i].found)
            how[n++] = pick[i].how;
    SORT(how, n, by_amount);
    return n ? how[n / 2] : (struct smooth){ SMOOTH_NONE, 0 };
}

int smooth_take(struct smooth_sample *sample, struct history *h,
                const struct run_info *run, const char *key,
                const struct request *r, struct err *e)
{
    for (size_t i = 0; i < sizeof sample->pick / sizeof sample->pick[0]; i++) {
        struct smooth_pick *p = &sample->pick[i];

        if (p->found && p->run == run && strcmp(p->key, key) == 0) {
            *h = p->h;
            p->found = false;
            return 0;
        }
    }
    return history_load(h, run, key, r, e);
}

void smooth_sample_clear(struct smooth_sample *sample)
{
    for (size_t i = 0; i < sizeof sample->pick / sizeof sample->pick[0]; i++)
        if (sample->pick[i].found)
            history_free(&sample->pick[i].h);
    *sample = (struct smooth_sample){ 0 };
}

void smooth_note(struct figure *f, const struct smooth *how, const char *more)
{
    char name[80];

    if (f->smooth_note == 0) {
        figure_note(f, "smoothed");
        f->smooth_note = f->n_notes;
        f->smooth_least = f->smooth_most = how->amount;
    }
    f->smooth_least = fmin(f->smooth_least, how->amount);
    f->smooth_most = fmax(f->smooth_most, how->amount);
    smooth_name(name, &(struct smooth){ how->kind, f->smooth_least },
                f->smooth_most);
    f->note[f->smooth_note - 1] =
        arena_printf(&f->mem, "Smoothed: %s%s.", name, more);
}
