#ifndef TRAINER_REPLAY_BISECT_TRACE_H
#define TRAINER_REPLAY_BISECT_TRACE_H

#include "common/buf.h"
#include "common/opt.h"
#include "store/read/runs.h"
#include "trainer/replay/trace.h"

/*
 * bisect_trace - the traces of two runs, and where they part
 *
 *      if (bisect_trace(&a, &run_a, 21, 30, TRACE_STEPS, e) == 0 &&
 *          bisect_trace(&b, &run_b, 21, 30, TRACE_STEPS, e) == 0)
 *          parts = bisect_trace_part(&a, &b, &row_a, &row_b);
 *
 * Each trace is computed by `gtrain replay` in a process of its own, which may
 * be of another build, with the CPU instructions and the threads that the run
 * recorded.  The file replay/trace.h describes the rows.
 */
struct bisect_run {
    const struct run_info *run;
    const char *root;  /* of the store */
    const char *build; /* the gtrain to compute with */
    const struct opt_list *sets;
};

struct bisect_row {
    int64_t step;
    const char *micro, *operation, *tensor, *hash, *size;
};

struct bisect_rows {
    struct buf text; /* the strings of the rows */
    struct bisect_row *row;
    size_t n, room;
};

#define BISECT_ROWS_INIT                                                       \
 {                                                                             \
  BUF_INIT, NULL, 0, 0                                                         \
 }

int bisect_trace(struct bisect_rows *, const struct bisect_run *, int64_t first,
                 int64_t last, enum trace_kind, struct err *);
void bisect_trace_clear(struct bisect_rows *);

/* The first row of A whose tensor B has computed, too, but with another hash.
 * Tensors that only one of them has, as where operations are fused, are passed
 * over.  False if there is none. */
bool bisect_trace_part(const struct bisect_rows *a, const struct bisect_rows *b,
                       const struct bisect_row **row_a,
                       const struct bisect_row **row_b);

/* Run `gtrain WORDS` for a run, with its instructions and threads; `words` ends
 * with NULL, and the rows that it prints are appended. */
int bisect_compute(struct buf *out, const struct bisect_run *,
                   const char *const *words, struct err *);

/* Cut off the text up to the next `end`, and move to what follows it; NULL if
 * there is none. */
char *bisect_cut(char **text, char end);

#endif
