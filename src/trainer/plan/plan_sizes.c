#include "config.h"
#include "trainer/plan/plan_sizes.h"

#include <inttypes.h>
#include <math.h>

#include "common/buf.h"
#include "common/log.h"
#include "trainer/model/resolve.h"

/* Widths from 1/32 to 32 times that of the settings, four of them for each
 * doubling. */
enum { SIZES = 41, MIDDLE = 20, AROUND = 2, CELLS = 5 };

/* Round to what a group of heads of the settings can be shared by. */
static int64_t share_heads(int64_t heads, int64_t wanted)
{
    int64_t kv = wanted > 1 ? wanted : 1;

    while (heads % kv)
        kv--;
    return kv;
}

/* A model of so many heads in the proportions of another. */
static struct model_settings scale_model(const struct model_settings *m,
                                         int64_t heads)
{
    const double by = (double)heads / (double)m->heads;
    struct model_settings to = *m;
    const int64_t layers = (int64_t)rint((double)m->layers * by);

    to.heads = heads;
    to.width = m->width / m->heads * heads;
    to.layers = layers > 1 ? layers : 1;
    to.d_ff = (int64_t)rint((double)m->d_ff * by);
    if (m->kv_heads > 0)
        to.kv_heads =
            share_heads(heads, (int64_t)rint((double)m->kv_heads * by));
    return to;
}

/* Many heads are an even number, so that widths stay round. */
static int64_t scale_heads(int64_t heads, int quarters)
{
    const int64_t to = (int64_t)rint((double)heads * pow(2, 0.25 * quarters));

    return to > 8 && heads % 2 == 0 ? to / 2 * 2 : to;
}

/* Different sizes, the smallest first; returns how many. */
static int list_sizes(struct model_settings out[SIZES],
                      const struct model_settings *m)
{
    int n = 0;

    for (int i = 0; i < SIZES; i++) {
        const int64_t heads = scale_heads(m->heads, i - MIDDLE);

        if (heads >= 1 && heads <= 1024 && (n == 0 || heads > out[n - 1].heads))
            out[n++] = scale_model(m, heads);
    }
    return n;
}

static void add_row(const struct plan_budget *b, const struct settings *s,
                    struct table *t)
{
    table_int(t, s->model.layers);
    table_int(t, s->model.width);
    plan_budget_add(b, s, t);
}

static void tell_best(const struct plan_budget *b, const struct settings *s)
{
    const struct model_settings *m = &s->model;
    const double steps =
        plan_budget_tokens(b, s) / (double)s->is.tokens_per_step;
    const double cells = steps / (10 + CELLS);
    struct buf sets = BUF_INIT;

    buf_printf(&sets, "model.layers=%" PRId64 " model.heads=%" PRId64,
               m->layers, m->heads);
    if (m->kv_heads > 0)
        buf_printf(&sets, " model.kv_heads=%" PRId64, m->kv_heads);
    buf_printf(&sets, " model.width=%" PRId64, m->width);
    if (m->d_ff > 0)
        buf_printf(&sets, " model.d_ff=%" PRId64, m->d_ff);
    plan_budget_end(b, sets.s);
    log_info("%d learning rates tried for %.0f steps each leave %.0f steps for "
             "the training, ten times as many",
             CELLS, floor(cells), floor(10 * cells));
    buf_clear(&sets);
}

int plan_sizes(const struct plan_budget *b, struct settings *s, int ranks,
               struct table *t, struct err *e)
{
    struct model_settings size[SIZES];
    const int n = list_sizes(size, &s->model);
    double least = INFINITY;
    int best = 0;

    table_columns(t, "layers", "width", NULL);
    plan_budget_columns(t);
    for (int i = 0; i < n; i++) {
        s->model = size[i];
        if (resolve_settings(s, 0, ranks, e) < 0)
            return -1;
        if (plan_budget_loss(b, s) < least) {
            least = plan_budget_loss(b, s);
            best = i;
        }
    }
    for (int i = best - AROUND; i <= best + AROUND; i++)
        if (i >= 0 && i < n) {
            s->model = size[i];
            if (resolve_settings(s, 0, ranks, e) < 0)
                return -1;
            add_row(b, s, t);
        }
    s->model = size[best];
    if (resolve_settings(s, 0, ranks, e) < 0)
        return -1;
    tell_best(b, s);
    return 0;
}
