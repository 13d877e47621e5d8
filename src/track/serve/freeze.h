#ifndef TRACK_SERVE_FREEZE_H
#define TRACK_SERVE_FREEZE_H

#include "common/err.h"

/*
 * freeze - the page with its data, in one file that needs no server
 *
 * The file has what the page would ask for about some runs, and works when it
 * is opened from a disk.  Figures have as many points as keep the file small.
 * Without words, all runs of the store are in it.
 */
int freeze_write(const char *path, const char *store, int n, char **words,
                 struct err *);

#endif
