#pragma once

#include "store/read/runs.h"

/*
 * run_rate - the speed of a whole run
 *
 *      if (run_rate_is(key))
 *          speed = run_rate(run, key);
 *
 * The mean of rates is no rate: fast steps count as much as slow ones, which
 * take longer.  The tokens per second of a run are its tokens divided by the
 * time of all its attempts, from their start to their end, and its MFU and
 * FLOP/s follow from them.  Tokens that another run has trained on, whose
 * checkpoint this one continues, do not count.  If a run does not record its
 * tokens, each of its points stands for as much work as the others.
 */
bool run_rate_is(const char *key);
/* The time of all attempts until a moment, in seconds. */
double run_rate_seconds(const struct run_info *, int64_t ms);
/* NaN if the run has no such points, and with an error if they cannot be read.
 */
double run_rate(const struct run_info *, const char *key, struct err *);
/* That of the steps after one (INT64_MIN: from the start) up to another. */
double run_rate_between(const struct run_info *, const char *key, int64_t after,
                        int64_t to, struct err *);
/* That of a speed, or else the highest or lowest value of a metric; NaN if
 * there is none, or if it is infinite: a run that diverged is never the best
 * one, and with an error if it cannot be read.  The key may be NULL. */
double run_rate_best(const struct run_info *, const char *key, bool high,
                     struct err *);
