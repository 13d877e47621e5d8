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
 * gtrack-store(5) describes the lines.  A last one without its newline is still
 * being written, and is not read.
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
