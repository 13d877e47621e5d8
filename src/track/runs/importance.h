#pragma once

#include "common/buf.h"
#include "common/mem.h"
#include "store/read/runs.h"
#include "track/runs/column.h"

/*
 * importance - which parameters matter for a result, and which values are best
 *
 *      struct importance im;
 *
 *      importance_find(&im, &runs, params.item, params.n, &metric, &mem);
 *      importance_say(&im, &sentences);
 *
 * A parameter explains what the means over its values explain of the variance
 * of the result, so words count as numbers do, and a minimum in the middle as a
 * slope does.  If most runs have a value of their own, the values are parted
 * into five groups of equal size.
 *
 * Only finished runs with a finite result have part in means.  Those that
 * failed or diverged are counted for each value.
 *
 * The best value is compared with the next best: where runs have the same
 * values of all other parameters, such as the seed, by their differences.
 */
struct importance_value {
    const char *text;
    size_t runs, failed; /* that have part in the mean; that have not */
    double mean, half;   /* of the 95% interval; NaN: not known */
};

struct importance_param {
    const char *name;
    double share; /* of the variance; NaN: not known */
    struct importance_value *value;
    size_t n;
    size_t best, next; /* n: there is none */
    double gap, half;  /* how much better the best is than the next */
    size_t pairs;      /* of runs that were compared; 0: means were */
};

struct importance {
    struct importance_param *param; /* the most important ones come first */
    size_t n;
    const char *metric;
    bool high;                    /* is a higher result better? */
    size_t runs, failed, running; /* all; not counted, by reason */
};

enum { IMPORTANCE_LEAST = 4 }; /* finished runs, for any answer */

void importance_find(struct importance *, const struct runs *,
                     const struct column *params, size_t n,
                     const struct column *metric, struct arena *);
/* What it says, in a few sentences; nothing if there are too few runs. */
void importance_say(const struct importance *, struct buf *);
