#pragma once

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"
#include "store/write/run.h"

/*
 * run_output - text that is added to an artifact of a run as it comes
 *
 *      struct run_output o;
 *
 *      run_output_open(&o, run, "log.txt");
 *      run_output_printf(&o, "step %d\n", step);
 *      run_output_close(&o);
 *      return run_end(run, RUN_FINISHED, e);
 *
 * What cannot be written is kept, up to 64 MiB, and tried again with the next
 * text; so is a file that cannot be opened.  run_output_close() warns of what
 * was lost, and run_end() then fails.  No message is logged before, so this can
 * be where messages go.  One that is all zero, without a run, takes text and
 * drops it.
 */
struct run_output {
    struct run *run;
    const char *name;
    int fd;
    struct buf kept;
    size_t lost; /* bytes that found no room */
    struct err why;
};

void run_output_open(struct run_output *, struct run *, const char *name);
void run_output_write(struct run_output *, const char *text, size_t n);
void run_output_printf(struct run_output *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void run_output_close(struct run_output *);
