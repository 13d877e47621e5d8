#pragma once

#include "common/buf.h"
#include "common/err.h"
#include "plot/curve_kind.h"
#include "plot/draw/figure.h"
#include "plot/figures.h"
#include "plot/history.h"

/*
 * curves - draw the curves of a panel
 *
 * The runs of the set are drawn.  Runs without the metric are left out; if no
 * run has it, that is ERR_MISSING.  The values in the summary (minimum,
 * maximum, last) take in all points in the store, including points that are
 * skipped, smoothed or thinned in the figure; a speed over time is that of the
 * steps that are drawn.
 */
int curves_kind(struct build *, struct panel *, const struct curve_kind *,
                struct err *);
/* Draw metrics by name or pattern, separated by commas, in a panel for each
 * unit. */
int curves_metrics(struct build *, const char *names, struct err *);

/* If the window of --inset would be smaller than what it magnifies, draw a
 * panel below instead. */
void curves_inset(struct build *, struct panel *);

/* Draw the forecast of the rest of a curve, dashed, and its interval as a band,
 * as `gtrack forecast` prints them; a note says how good the interval is.  A
 * run that has ended, or a metric that cannot be forecast, is left out with a
 * message. */
void curve_forecast(struct build *, struct panel *, const struct run_info *,
                    const char *key, int slot);

/* Draw the runs with the same value of a parameter as one curve with a band
 * (curve_groups.c).  The curve is the mean over the runs of a group at every x
 * that one of them has (at most 2,000, then evenly spaced), by linear
 * interpolation; a run counts from its first point to its last.  The band is
 * one standard deviation, the standard error, the 95% interval of Student's t,
 * or minimum to maximum. */
int curves_group(struct build *, struct panel *, const struct curve_kind_line *,
                 bool lines_named, struct err *);

/* The mean of some values and the ends of the band, which for a single value
 * are equal to it. */
void curves_spread(enum band, const double *v, size_t n, double *mean,
                   double *lo, double *hi);

/* The meaning of a band or of bars, for a sentence. */
const char *curves_band(enum band);

/* The rows of a curve in the table below a figure. */
struct curve_summary {
    const struct run_info *run;
    const char *name, *key;
    enum unit unit;
    struct history *history;
    const struct smooth *how; /* NULL: not smoothed */
};

void curve_summarise(struct table *, const struct curve_summary *,
                     const struct request *);

/* What is said of several runs in one sentence: three of them, then a number.
 */
struct tally {
    const struct run_info *run; /* the first of the set */
    bool *seen;
    struct buf text;
    size_t n;
};

/* A curve and the run it shows, whose events are marked.  A spike is what
 * store/analysis/spike.h calls one, and what `gtrain batch --spikes` lists. */
struct marked {
    struct figure *figure;
    struct panel *panel;
    const struct run_info *run;
    const char *key;
    const struct history *history;
    int slot;
    struct tally *bad, *spikes; /* of several runs; or NULL */
};

/* A tick at the upper edge. */
void mark_tick(struct panel *, double x, int slot);
/* Mark the values that are not finite. */
void mark_bad(const struct marked *);
/* Mark the events of a set, 1 << show for each. */
void mark_wanted(const struct marked *, unsigned marks);
/* Note what was counted of several runs, and clear it. */
void mark_tally(struct figure *, struct tally *, const char *what);
/* Mark where a run continues a stitched curve. */
void mark_seam(struct panel *, const struct run_info *,
               const char *const *names, const struct history *);
