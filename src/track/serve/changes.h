#pragma once

#include <stdbool.h>

#include "store/read/runs.h"

/*
 * changes - learn which runs of a store change
 *
 * inotify(7) tells of new runs, of changed tags, and of points of running runs.
 * It does not see what other machines write to a network file system, and its
 * number of folders is limited: where `seen` is false, the store has to be read
 * again from time to time.
 */
enum { CHANGES_FEW = 64 };

struct changes {
    int fd;    /* becomes readable; -1: inotify is not there */
    bool seen; /* all changes are reported */
    bool all;  /* runs were added or removed, or too many have changed */
    char *id[CHANGES_FEW]; /* of runs that have changed */
    int n;
    char **owner; /* the run that a folder is of, by its watch; or NULL */
    size_t room;
};

void changes_open(struct changes *);
/* Watch the folders that runs are added to. */
void changes_watch_root(struct changes *, const char *root);
void changes_watch_run(struct changes *, const struct run_info *);
/* Add what was reported since the last call. */
void changes_take(struct changes *);
/* Forget it, before the store is read again. */
void changes_forget(struct changes *);
void changes_close(struct changes *);
