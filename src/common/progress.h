#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>

/*
 * progress - show how far a long task is, on standard error
 *
 *      struct progress p;
 *
 *      progress_open(&p, 0, 19073, "step");
 *      while (...) {
 *          progress_at(&p, done, "loss 3.21  120k tok/s");
 *      progress_close(&p);
 *
 * On a terminal it is one line that is redrawn at most ten times a second: a
 * bar, the count, the text and the time left.  Log lines appear above it.  If
 * standard error is a file, it prints a plain line whenever another fiftieth is
 * done or half a minute has passed.  Only one can be shown at a time, and all
 * calls come from one thread.
 */
struct progress {
    long total; /* 0: not known */
    const char *unit;
    bool terminal;
    double start, shown; /* clock_mono() */
    long first, at;      /* where it began, where it is */
    long next_line;
    char text[160];
};

/* first: what was done before, by a run that is resumed; the time left is
 * estimated without it. */
void progress_open(struct progress *, long first, long total, const char *unit);
void progress_at(struct progress *, long done, const char *text);
void progress_close(struct progress *); /* may be called twice */

#endif
