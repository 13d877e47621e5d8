#ifndef PLOT_MARKS_H
#define PLOT_MARKS_H

#include "plot/history.h"

/*
 * marks - events of a run: resumes, checkpoints, spikes, the best value
 *
 * Everything is read from the run.  A spike is what store/analysis/spike.h
 * calls one, and what `gtrain batch --spikes` lists.
 */

/* A curve and the run it shows. */
struct marked {
    struct figure *figure;
    struct panel *panel;
    const struct run_info *run;
    const char *key;
    const struct history *history;
    int slot;
};

/* Mark the values that are not finite. */
void mark_bad(const struct marked *);
/* Mark the events of a set, 1 << show for each. */
void mark_wanted(const struct marked *, unsigned marks);
/* Mark where a run continues a stitched curve. */
void mark_seam(struct panel *, const struct run_info *,
               const char *const *names, const struct history *);

#endif
