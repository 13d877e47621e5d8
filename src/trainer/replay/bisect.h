#pragma once

#include "common/buf.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "store/read/runs.h"
#include "trainer/replay/trace.h"

/*
 * bisect_trace - the traces of two runs, and where they diverge
 *
 *      if (bisect_trace(&a, &run_a, 21, 30, TRACE_STEPS, e) == 0 &&
 *          bisect_trace(&b, &run_b, 21, 30, TRACE_STEPS, e) == 0)
 *          diverged = bisect_trace_diverge(&a, &b, &row_a, &row_b);
 *
 * Each trace is computed by `gtrain replay` in a process of its own, which may
 * be of another build, with the CPU instructions that the run recorded for the
 * first step.  The file replay/trace.h describes the rows.
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

#define BISECT_ROWS_INIT ((struct bisect_rows){ BUF_INIT, NULL, 0, 0 })

int bisect_trace(struct bisect_rows *, const struct bisect_run *, int64_t first,
                 int64_t last, enum trace_kind, struct err *);
void bisect_trace_clear(struct bisect_rows *);

/* The first row of A whose tensor B has computed, too, but with another hash.
 * Tensors that only one of them has, as where operations are fused, are passed
 * over.  False if there is none. */
bool bisect_trace_diverge(const struct bisect_rows *a,
                          const struct bisect_rows *b,
                          const struct bisect_row **row_a,
                          const struct bisect_row **row_b);

/*
 * bisect_facts - what two runs recorded differently, and what it can change
 *
 *      bisect_facts(&table, &a, &b, 21, PART_DATA);
 *
 * Adds a row for each parameter and tag that differs at step 21 and that can
 * make two runs diverge at this place in it: the kind of the fact, its name and
 * both values.  The likeliest causes come first.
 */
enum bisect_place {
    PART_STATE = 1 << 0, /* weights or moments before the step */
    PART_DATA = 1 << 1,
    PART_COMPUTE = 1 << 2,
    PART_UPDATE = 1 << 3,
    PART_ANYWHERE = PART_STATE | PART_DATA | PART_COMPUTE | PART_UPDATE
};

void bisect_facts(struct table *, const struct run_info *a,
                  const struct run_info *b, int64_t step, enum bisect_place);

/*
 * bisect_document - the first document that differs in a sequence
 *
 * Has `gtrain batch` decode the batch of a step for two runs, and adds a row
 * with the position of the document in the sequence and the text around the
 * first difference in each run.  Without a tokenizer there is no text, and no
 * row.
 */
int bisect_document(struct table *, const struct bisect_run *a,
                    const struct bisect_run *b, int64_t step, int64_t sequence,
                    struct err *);
