#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/output/emit.h"
#include "store/read/runs.h"

/*
 * live - a store in memory, read again after it has changed
 *
 *      live_open(&l, "mlruns", 0);
 *      ... poll(2) for live_wait(&l), or until live_fd(&l) is readable ...
 *      live_look(&l);
 *      if (live_due(&l))
 *          live_begin(&l);
 *      if (live_end(&l, 0))
 *          ... live_changed(&l, &emit) names the runs ...
 *
 * A thread reads the store, so that a slow disk keeps nobody waiting; until
 * live_end() the runs are those of before.  If it is known which few runs have
 * changed, only these are read.  Reading takes at most a twentieth of the
 * processor's time, and a fifth of the time, however large the store is.  A
 * store that does not exist, or no longer, or was not read yet, is a `problem`
 * until it does.
 */
struct live_reading;

/* Which runs of a store change.  inotify(7) tells of new runs, of changed tags,
 * and of points of running runs.  It does not see what other machines write to
 * a network file system, and its number of folders is limited: where `seen` is
 * false, the store has to be read again from time to time. */
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

struct live {
    const char *path;
    int flags;          /* LOAD_LINKS to follow symbolic links, or 0 */
    struct runs runs;   /* all, even deleted ones */
    struct err problem; /* why there are none; or ERR_NONE */
    int64_t version;    /* grows with each change */
    struct changes changes;
    struct live_run *of; /* more about each of the runs */
    bool again;          /* something may have happened before it was watched */
    bool running;        /* some run may become stale */
    double read_at, all_at; /* when a part, or all was read, by clock_mono() */
    double cost, cost_of_all; /* how long to wait then until it is read again */
    double secs;              /* that the last reading took */
    struct live_reading *reading; /* what is being read, or NULL */
};

void live_open(struct live *, const char *path, int flags);
/* The file descriptor that becomes readable after a change, or at the end of a
 * reading. */
int live_fd(const struct live *);
/* Learn what has changed. */
void live_look(struct live *);
/* Is it time to read the store again? */
bool live_due(const struct live *);
/* The seconds until then. */
double live_wait(const struct live *);
/* Begin to read it, unless it is being read. */
void live_begin(struct live *);
/* Wait for the end of a reading, this long at most; true if it has ended and
 * something is different now. */
bool live_end(struct live *, double secs);
/* Read it now; true if something is different. */
bool live_read(struct live *);
/* The version since which these runs are what they are; 0 for none of them. */
int64_t live_since(const struct live *, char *const *ids, size_t n);
/* {"version":7,"runs":["ID",...]}, after live_read(). */
void live_changed(const struct live *, struct emit *);
void live_close(struct live *);
