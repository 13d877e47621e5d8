#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>

/*
 * progress - how far a long job is, on standard error
 *
 *      struct progress p;
 *
 *      progress_open(&p, 0, 19073, "step");
 *      while (...) {
 *          progress_at(&p, done, "loss 3.21  120k tok/s");
 *      progress_close(&p);
 *
 * On a terminal it is one line that is drawn again, at most ten times a
 * second: a bar, the count, the text, and the time that is left.  Log lines
 * step around it.  Where standard error is a file it is a plain line now and
 * then: each time another fiftieth is done or half a minute has passed.  There
 * is at most one at a time; all calls come from one thread.
 */
struct progress {
    long total; /* 0: not known */
    const char *unit;
    bool terminal, quiet;
    double start, shown; /* clock_mono() */
    long first, at;      /* where we began, where we are */
    long next_line;
    char text[160];
};

/* first: what was already done before (a resumed run), not counted for the
 * time that is left. */
void progress_open(struct progress *, long first, long total, const char *unit);
void progress_at(struct progress *, long done, const char *text);
void progress_close(struct progress *); /* harmless when done twice */

#endif
