#ifndef TRACK_SERVE_LIVE_H
#define TRACK_SERVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/output/emit.h"
#include "store/read/runs.h"
#include "track/serve/changes.h"

/*
 * live - a store in memory, read again after it has changed
 *
 *      live_open(&l, "mlruns", 0);
 *      ... poll(2) for live_wait(&l), or until l.changes.fd is readable ...
 *      live_look(&l);
 *      if (live_due(&l) && live_read(&l))
 *          ... live_changed(&l, &emit) names the runs ...
 *
 * If it is known which few runs have changed, only these are read.  Reading
 * takes at most a twentieth of the processor's time, however large the store
 * is.  A store that does not exist, or no longer, is a `problem` until it does.
 */
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
    double cost, cost_of_all; /* seconds of the processor that it took */
};

void live_open(struct live *, const char *path, int flags);
/* Learn what has changed. */
void live_look(struct live *);
/* Is it time to read the store again? */
bool live_due(const struct live *);
/* The seconds until then. */
double live_wait(const struct live *);
/* Read it; true if something is different now. */
bool live_read(struct live *);
/* The version since which these runs are what they are; 0 for none of them. */
int64_t live_since(const struct live *, char *const *ids, size_t n);
/* {"version":7,"runs":["ID",...]}, after live_read(). */
void live_changed(const struct live *, struct emit *);
void live_close(struct live *);

#endif
