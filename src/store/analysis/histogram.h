#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/read/runs.h"

/*
 * histogram - the histograms of a run under one name
 *
 *      RUN/artifacts/histograms/NAME.jsonl
 *
 * Each line has the step, the edges of the bins and the counts:
 *
 *      {"step": 3, "time": 1795377543739, "values": [1, 4], "bins": [0, 1, 2]}
 *
 * A last line without its newline is still being written, and is not read.
 */
struct histogram {
    int64_t step, ms; /* ms: when it was logged, or 0 */
    size_t n;         /* bins */
    double *edge;     /* one more than bins, ascending */
    double *count;
};

struct histograms {
    struct arena mem;
    struct histogram *item; /* by step, each step once: the last of a step */
    size_t n, room;
};

/* A name that the run does not have is ERR_MISSING. */
int histograms_load(struct histograms *, const struct run_info *,
                    const char *name, struct err *);
void histograms_free(struct histograms *);
