#pragma once

#include <math.h>

#include "kernels/ops.h"

/*
 * head_goals - what a row of the head is to predict: ids and their shares
 *
 * These are the target and, where a teacher says something, its ids.
 */
struct head_goals {
    int32_t id[1 + HEAD_TEACHER_MOST];
    double share[1 + HEAD_TEACHER_MOST];
    int64_t n;
};

/* Returns what of the loss depends on the teacher alone. */
static inline double head_goals_set(struct head_goals *g, int32_t target,
                                    const struct head_teacher *t, int64_t row)
{
    const int64_t K = t ? t->words->dim[1] - 1 : 0;
    const int32_t *word =
        t ? (const int32_t *)t->words->data + row * (1 + K) : NULL;
    const double weight = t && word[0] >= 0 ? t->weight : 0;
    double all = 0, fixed = 0;

    g->id[0] = target;
    g->share[0] = 1 - weight;
    for (g->n = 1; weight > 0 && g->n <= K; g->n++) {
        const uint32_t w = (uint32_t)word[g->n];
        const double logp = -(double)(w / HEAD_IDS) / HEAD_UNITS;

        g->id[g->n] = (int32_t)(w % HEAD_IDS);
        g->share[g->n] = exp(logp);
        all += g->share[g->n];
        fixed += g->share[g->n] * logp;
    }
    for (int64_t k = 1; k < g->n; k++)
        g->share[k] *= weight / all;
    return g->n > 1 ? weight * (fixed / all - log(all)) : 0;
}
