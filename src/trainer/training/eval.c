#include "config.h"
#include "trainer/training/eval.h"

#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/sig.h"

/* The sums over ranks. */
enum { SUM_LOSS, SUM_TOKENS, SUM_BYTES, SUMS };

/* Of a row with window w, only what no earlier window has scored is a target.
 * The last window may begin less than a stride after the one before it: move it
 * to where it would begin, so that its targets have as much before them as
 * those of the others, and leave out what is then behind the end. */
static void keep_fresh(const struct engine *eng, const struct loader *from,
                       int64_t w, int32_t *x, int32_t *y)
{
    const int64_t T = eng->gpt.T, stride = eng->set->eval.stride;
    const int64_t fresh = loader_fresh(from, w);
    const int64_t late = fresh < stride ? stride - fresh : 0;

    if (stride == 0 || eng->set->eval.random)
        return;
    memmove(x, x + late, (size_t)(T - late) * sizeof *x);
    memmove(y, y + late, (size_t)(T - late) * sizeof *y);
    for (int64_t t = 0; t < T; t++)
        if (t < T - late - fresh || t >= T - late)
            y[t] = -1;
}

/* Set n windows from w on as inputs.  Positions that do not count have no
 * target. */
static int set_windows(struct engine *eng, struct loader *from, int64_t w,
                       int64_t n, struct err *e)
{
    const int64_t T = eng->gpt.T;

    if (n > 0 && engine_read(eng, from, w, n, e) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++)
        keep_fresh(eng, from, w + i, eng->batch.x + i * T,
                   eng->batch.y + i * T);
    return 0;
}

static void add_losses(const struct engine *eng, int64_t n, double sum[SUMS])
{
    for (int64_t i = 0; i < n * eng->gpt.T; i++) {
        if (eng->batch.y[i] < 0)
            continue;
        sum[SUM_LOSS] += (double)eng->batch.losses[i];
        sum[SUM_TOKENS]++;
        if (eng->data.token_bytes)
            sum[SUM_BYTES] += eng->data.token_bytes[eng->batch.y[i]];
    }
}

int eval_check_signals(struct engine *eng, int64_t turn, bool *stop,
                       struct err *e)
{
    int64_t caught = sig_caught() != 0;

    if (eng->coll.size > 1 && turn % 8 != 0)
        return 0;
    if (coll_max(&eng->coll, &caught, e) < 0)
        return -1;
    *stop = caught > 0;
    return 0;
}

/* Add up the losses of this rank's windows of a source. */
static int add_source(struct engine *eng, struct loader *from, double sum[SUMS],
                      bool *stopped, struct err *e)
{
    const int64_t B = eng->gpt.B, limit = eng->set->eval.sequences;
    const struct coll *c = &eng->coll;
    int64_t all = loader_windows(from), first, count, most;

    if (limit && (limit < all || eng->set->eval.random))
        all = limit;
    first = all * c->rank / c->size;
    count = all * (c->rank + 1) / c->size - first;
    /* every rank runs as often as the busiest: a forward may need all ranks */
    most = (all + c->size - 1) / c->size;
    for (int64_t i = 0; i < most; i += B) {
        const int64_t left = count > i ? count - i : 0;
        const int64_t n = left < B ? left : B;

        if (eval_check_signals(eng, i / B, stopped, e) < 0)
            return -1;
        if (*stopped)
            return 0;
        if (set_windows(eng, from, first + i, n, e) < 0 ||
            engine_forward(eng, n, e) < 0)
            return -1;
        add_losses(eng, n, sum);
    }
    return loader_check(from, e); /* zeros after its end are ids */
}

char *eval_source_metric(const struct mixture *val, size_t source)
{
    return xasprintf("val/%s/loss", mixture_name(val, source));
}

int eval_loss(struct engine *eng, struct eval_result *r, struct err *e)
{
    const struct mixture *val = eng->data.val;
    const size_t n = mixture_sources(val);
    const double before = clock_mono();
    double of[SOURCE_LIST_MOST][SUMS] = { { 0 } }, sum[SUMS] = { 0 };

    *r = (struct eval_result){ 0 };
    for (size_t k = 0; k < n && !r->stopped; k++)
        if (add_source(eng, mixture_loader(val, k), of[k], &r->stopped, e) < 0)
            return -1;
    if (r->stopped)
        return 0;
    if (coll_sum_f64(&eng->coll, of[0], n * SUMS, e) < 0)
        return -1;
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < SUMS; i++)
            sum[i] += of[k][i];
    if (sum[SUM_TOKENS] == 0.0)
        return err_input(e, "%s has no id but data.ignore = %lld to predict",
                         eng->set->data.val, (long long)eng->set->data.ignore);
    *r = (struct eval_result){
        .loss = sum[SUM_LOSS] / sum[SUM_TOKENS],
        .tokens = (int64_t)sum[SUM_TOKENS],
        .bytes = (int64_t)sum[SUM_BYTES],
        .bpb = sum[SUM_BYTES] > 0 ? sum[SUM_LOSS] / M_LN2 / sum[SUM_BYTES]
                                  : (double)NAN,
        .seconds = clock_mono() - before,
    };
    for (size_t k = 0; k < n; k++)
        r->source_loss[k] = of[k][SUM_LOSS] / of[k][SUM_TOKENS];
    return 0;
}
