#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "common/output/table.h"
#include "store/read/runs.h"

/*
 * compare_table - runs side by side
 *
 *      const struct compare_table how = { .best = true, .across = true };
 *
 *      ret = compare_table_fill(&t, &runs, &how, e);
 *
 * Without columns, it has the parameters in which the runs differ and the
 * metrics.  Only columns that cannot be parsed are an error.
 */
struct compare_table {
    const char *columns;         /* these, as in lr,min(val/loss); or NULL */
    const struct run_info *base; /* show differences from it; or NULL */
    bool best;                   /* the best values, not the last */
    bool all;                    /* also equal parameters, and every metric */
    bool across;                 /* a run is a row, not a column */
};

int compare_table_fill(struct table *, const struct runs *,
                       const struct compare_table *, struct err *);

/*
 * diff_table - what differs between two runs: a row for each command,
 * parameter, dataset or tag, with the value of either run
 */
enum diff_detail {
    DIFF_SHORT, /* of long values, only how long they are */
    DIFF_LINES, /* of uncommitted changes, the lines that one run has */
    DIFF_ALL,   /* whole values, and tags that differ between any two runs */
};

void diff_table_fill(struct table *, const struct run_info *,
                     const struct run_info *, enum diff_detail);
