#ifndef PLOT_MARKS_H
#define PLOT_MARKS_H

#include "plot/history.h"

/*
 * marks - what happened on the way: resumes, checkpoints, spikes, the best
 *
 * None of it is typed by hand: it is read from the run.  A spike is a value
 * further above the median of the 101 around it than eight times their median
 * deviation.
 */
void mark_bad(struct figure *, struct panel *, const struct history *,
              int slot);
void mark_wanted(struct figure *, struct panel *, unsigned marks, bool attempts,
                 const struct run_info *, const char *key,
                 const struct history *, int slot);
/* Where a stitched run takes over. */
void mark_seam(struct panel *, const struct run_info *,
               const char *const *names, const struct history *);

#endif
