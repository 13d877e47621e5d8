#pragma once

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
 * bar, the count, the text and the time left.  Log lines appear above it.
 * Parts of the text are separated by two blanks; those at the end that do not
 * fit are left out.  If standard error is a file, it prints a plain line
 * whenever another fiftieth is done or half a minute has passed.  Only one can
 * be shown at a time, and all calls come from one thread.
 *
 * When one unit takes long, progress_within() shows how much of it is done:
 * "step 1: 3 of 16".
 */
struct progress {
    long total; /* 0: not known */
    const char *unit;
    bool terminal;
    double start, shown; /* clock_mono() */
    long first, at;      /* where it began, where it is */
    long next_line;
    long part, parts; /* of the unit that follows; 0: not shown */
    double reached;   /* clock_mono() when the last unit was done */
    char text[160];
};

/* first: what was done before, by a run that is resumed; the time left is
 * estimated without it. */
void progress_open(struct progress *, long first, long total, const char *unit);
void progress_at(struct progress *, long done, const char *text);
void progress_within(struct progress *, long part, long parts);
void progress_close(struct progress *); /* may be called twice */
