#pragma once

#include "common/output/table.h"
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
