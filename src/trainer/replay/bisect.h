#pragma once

#include "common/buf.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "store/read/runs.h"
#include "trainer/replay/certify.h"

/*
 * trace - hashes of all that steps of a run compute
 *
 *      if (certify_open(&c, eng, run, e) == 0 &&
 *          trace_steps(&t, &c, 21, 30, TRACE_STEPS, e) == 0)
 *          table_print(&t, ...)
 *
 * The first row in which two traces differ tells where two runs diverge, even
 * if other machines or other builds have computed them.  A row has the step,
 * the micro-batch counted over all ranks, the operation, the tensor that it has
 * computed, a hash of its bytes, and a number that shows its size: the root
 * mean square, or the number itself for a loss.
 *
 * gtrain(1), replay --trace, says which rows there are.
 *
 * All ranks call the function; rank 0 fills the table.
 */
enum trace_kind { TRACE_NONE, TRACE_STEPS, TRACE_OPERATIONS, TRACE_DATA };

extern const char *const trace_words[]; /* of OPT_WORD: "steps" and so on */

int trace_steps(struct table *, struct certify *, int64_t first, int64_t last,
                enum trace_kind, struct err *);

/*
 * bisect_trace - the traces of two runs, and where they diverge
 *
 *      if (bisect_trace(&a, &run_a, 21, 30, TRACE_STEPS, e) == 0 &&
 *          bisect_trace(&b, &run_b, 21, 30, TRACE_STEPS, e) == 0)
 *          diverged = bisect_trace_diverge(&a, &b, &row_a, &row_b);
 *
 * Each trace is computed by `gtrain replay` in a process of its own, which may
 * be of another build, with the CPU instructions that the run recorded for the
 * first step.
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
