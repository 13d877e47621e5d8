#pragma once

#include "store/read/runs.h"

/*
 * beats - which heartbeats do not move between two looks
 *
 *      beats_judge(&runs, root);
 *
 * Of a process on another machine, often only the heartbeat tells whether it
 * lives, and the clocks of two machines differ.  So this machine notes in the
 * cache (index.h) when it first saw a heartbeat.  A run whose heartbeat is
 * still the same three intervals later is STALE; until then, it is RUNNING.
 */
void beats_judge(struct runs *, const char *root);
/* The same, but wait until each of the heartbeats has moved or is judged, or a
 * signal comes. */
void beats_await(struct runs *, const char *root);
