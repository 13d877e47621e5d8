#ifndef TRAINER_REPLAY_BISECT_DOCUMENT_H
#define TRAINER_REPLAY_BISECT_DOCUMENT_H

#include "common/output/table.h"
#include "trainer/replay/bisect_trace.h"

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

#endif
