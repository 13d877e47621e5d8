#pragma once

#include "plot/history.h"
#include "plot/run_set.h"

/*
 * smooth_choice - whether a curve is smoothed, and how widely
 *
 *      how = smooth_choice(&h, req);
 *      if (how.kind != SMOOTH_NONE)
 *          history_smooth(&h, &how, out);
 *
 * A request that names no method leaves the choice to the data, as gplot(1),
 * --smooth, describes.  Points that are skipped or outside of the range of x do
 * not count.
 */
struct smooth smooth_choice(const struct history *, const struct request *);

/*
 * One choice for all runs: the middle one of up to eight of them.  What was
 * loaded for it is in the sample, which the caller clears; smooth_take() gives
 * it away.
 */
struct smooth_sample {
    struct smooth_pick {
        const struct run_info *run;
        const char *key;
        const struct request *r;
        struct smooth how;
        struct history h;
        bool found;
    } pick[8];
};

struct smooth smooth_choice_set(const struct run_set *,
                                const char *const *names,
                                const struct request *, struct smooth_sample *);
/* history_load(), unless it is in the sample. */
int smooth_take(struct smooth_sample *, struct history *,
                const struct run_info *, const char *key,
                const struct request *, struct err *);
void smooth_sample_clear(struct smooth_sample *);

/* One note for all smoothed curves of a figure: "Smoothed: Gaussian, sigma = 8
 * to 40 points"; more is added to it. */
void smooth_note(struct figure *, const struct smooth *, const char *more);
