#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * clock - what time it is
 *
 * clock_mono() is for durations; clock_wall_ms() is for records, in
 * milliseconds since the epoch.  Tests set GT_CLOCK_MS in the environment to
 * stop the wall clock, so that the same records are written twice.
 */
double clock_mono(void); /* seconds, from an arbitrary start */
int64_t clock_wall_ms(void);
/* Sleep, or until a signal comes. */
void clock_pause(double seconds);
/* The time that a clock of the system will show in `seconds` seconds. */
struct timespec clock_after(clockid_t clock, double seconds);
/* A condition whose waits end by CLOCK_MONOTONIC. */
void clock_cond(pthread_cond_t *);
/* Wait for so many seconds, or until `stop` is set under the lock; returns
 * it. */
bool clock_wait(pthread_mutex_t *lock, pthread_cond_t *wake, const bool *stop,
                double seconds);

/* "2026-11-21 14:03:07" in local time; returns out, of at least 32 bytes. */
char *clock_text(char *out, int64_t wall_ms);
/* Read a date, with or without a time, in local time; false if it is none. */
bool clock_parse(const char *text, int64_t *wall_ms);
/* "2h ago", or the date if it is more than a month ago; out as above. */
char *clock_ago(char *out, int64_t wall_ms);
/* "2026-11-21T13:03:07.482Z", limited to the years 0 to 9999; as above. */
char *clock_utc(char *out, int64_t wall_ms);
