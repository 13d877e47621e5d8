#ifndef TRACK_RUNS_LS_COLUMNS_H
#define TRACK_RUNS_LS_COLUMNS_H

#include "track/runs/column.h"
#include "track/runs/track.h"

/*
 * ls_columns - the columns in which runs are listed by default
 *
 * Documents get the columns in which the runs differ, and the most important
 * metrics; programs get the same attributes for any runs.  On a screen, where
 * there is little room, what tells the runs apart comes first.
 */
enum ls_reader { LS_DOCUMENT, LS_DOCUMENT_ALL, LS_PROGRAM };

void ls_columns_full(struct columns *, const struct runs *,
                     const struct track_selection *, enum ls_reader);
void ls_columns_short(struct columns *, const struct runs *,
                      const struct track_selection *);

#endif
