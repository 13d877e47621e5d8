#pragma once

#include "store/read/runs.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

/*
 * auto_columns - the parameters and metrics that tables show by default
 *
 * These are the parameters in which the runs differ (store/query/differ.h);
 * and the losses, accuracies and speeds
 * that runs are compared by, or the most common metrics if there are none of
 * these.  `all` selects every parameter or every metric.
 *
 * In a list of runs, documents get the columns in which the runs differ, and
 * the most important metrics; programs get the same attributes for any runs.
 * On a screen, where there is little room, what tells the runs apart comes
 * first.
 */
enum auto_reader { AUTO_DOCUMENT, AUTO_DOCUMENT_ALL, AUTO_PROGRAM };

/* An attribute, if it differs or shall be there `always`. */
void auto_columns_attribute(struct columns *, const char *name,
                            const struct runs *, bool always);
void auto_columns_params(struct columns *, const struct runs *, bool all);
void auto_columns_metrics(struct columns *, const struct runs *, bool all);
/* The default metrics and, where there are fewer than six, others. */
void auto_columns_some(struct columns *, const struct runs *);
void auto_columns_full(struct columns *, const struct runs *,
                       const struct track_selection *, enum auto_reader);
void auto_columns_short(struct columns *, const struct runs *,
                        const struct track_selection *);
void auto_columns_shorten(struct columns *);
