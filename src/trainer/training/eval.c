#include "config.h"
#include "trainer/training/eval.h"

#include <math.h>

#include "common/clock.h"
#include "common/sig.h"
#include "trainer/model/graph_run.h"

/* What one rank has seen; summed over ranks as doubles. */
enum { SUM_LOSS, SUM_TOKENS, SUM_BYTES, SUMS };

/* Of window w, the positions that an earlier one has scored already. */
static int64_t scored_before(const struct job *j, int64_t w)
{
    const int64_t stride = j->set->eval.stride;
    const bool overlap = stride > 0 && stride < j->gpt.T;

    return overlap && !j->set->eval.random ? j->gpt.T - loader_fresh(j->val, w)
                                           : 0;
}

/* n windows from w on; rows that are left over, and what does not count, have
 * no target. */
static int put_windows(struct job *j, int64_t w, int64_t n, struct err *e)
{
    const int64_t T = j->gpt.T;

    if (n > 0 && job_read(j, j->val, w, n, e) < 0)
        return -1;
    for (int64_t i = 0; i < j->gpt.B; i++) {
        const int64_t from = i < n ? scored_before(j, w + i) : T;

        for (int64_t t = 0; t < from; t++)
            j->y[i * T + t] = -1;
        for (int64_t t = 0; t < T && i >= n; t++)
            j->x[i * T + t] = 0;
    }
    gpt_set_inputs(&j->gpt, j->x, j->y);
    return 0;
}

static void add_up(const struct job *j, double sum[SUMS])
{
    for (int64_t i = 0; i < j->gpt.B * j->gpt.T; i++) {
        if (j->y[i] < 0)
            continue;
        sum[SUM_LOSS] += (double)j->losses[i];
        sum[SUM_TOKENS]++;
        if (j->token_bytes)
            sum[SUM_BYTES] += j->token_bytes[j->y[i]];
    }
}

/* This rank's part of n windows. */
static void share(const struct coll *c, int64_t n, int64_t *first,
                  int64_t *count)
{
    *first = n * c->rank / c->size;
    *count = n * (c->rank + 1) / c->size - *first;
}

/* Now and then all ranks ask each other; each comes here as often. */
static int ask_to_stop(struct job *j, int64_t turn, bool *stop, struct err *e)
{
    int64_t caught = sig_caught() != 0;

    if (j->coll.size > 1 && turn % 8 != 0)
        return 0;
    if (coll_max(&j->coll, &caught, e) < 0)
        return -1;
    *stop = caught > 0;
    return 0;
}

int eval_loss(struct job *j, struct eval_result *r, struct err *e)
{
    const int64_t B = j->gpt.B, limit = j->set->eval.sequences;
    const struct tensor *loss = graph_val(&j->gpt.graph, j->gpt.output);
    const double before = clock_mono();
    double sum[SUMS] = { 0 };
    int64_t all = loader_windows(j->val), first, count, most;

    if (limit && (limit < all || j->set->eval.random))
        all = limit;
    share(&j->coll, all, &first, &count);
    /* Every rank runs as often as the busiest: a forward may need them all. */
    most = (all + j->coll.size - 1) / j->coll.size;
    *r = (struct eval_result){ 0 };
    for (int64_t i = 0; i < most; i += B) {
        const int64_t left = count > i ? count - i : 0;
        const int64_t n = left < B ? left : B;

        if (ask_to_stop(j, i / B, &r->cut, e) < 0)
            return -1;
        if (r->cut)
            return 0;
        if (put_windows(j, first + i, n, e) < 0)
            return -1;
        graph_run_forward(&j->gpt.graph);
        j->dev.type->get(&j->dev, j->losses, loss->data, tensor_bytes(loss));
        if (dev_sync(&j->dev, e) < 0)
            return -1;
        add_up(j, sum);
    }
    if (coll_sum_f64(&j->coll, sum, SUMS, e) < 0)
        return -1;
    *r = (struct eval_result){
        .loss = sum[SUM_LOSS] / sum[SUM_TOKENS],
        .tokens = (int64_t)sum[SUM_TOKENS],
        .bytes = (int64_t)sum[SUM_BYTES],
        .bpb = sum[SUM_BYTES] > 0 ? sum[SUM_LOSS] / M_LN2 / sum[SUM_BYTES]
                                  : (double)NAN,
        .seconds = clock_mono() - before,
    };
    return 0;
}
