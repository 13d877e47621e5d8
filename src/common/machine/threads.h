#pragma once

#include <pthread.h>
#include <stddef.h>

/*
 * threads - do the parts of a work at once
 *
 *      struct part part[8] = ...;
 *
 *      threads_run(read_part, part, sizeof part[0], 8);
 *
 * Calls the function with each of n parts, which are of this size, or with the
 * same one n times if the size is 0: one in this thread, and each other in a
 * thread of its own.  If one cannot be started, this thread does that part as
 * well, later.
 */
void threads_run(void (*work)(void *), void *part, size_t size, int n);

/* Like pthread_create(), for a thread that takes no signals: they are for the
 * program's own threads. */
int threads_start(pthread_t *, void *(*work)(void *), void *arg);
