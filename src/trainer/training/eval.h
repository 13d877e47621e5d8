#pragma once

#include "trainer/engine/engine.h"

/*
 * eval - the loss of the model on the validation data
 *
 * The loss is the mean over tokens, so it depends neither on the micro-batch
 * nor on the number of ranks, which share the windows.  If the stride is less
 * than the context, tokens that are targets in an earlier window are only
 * context in the next.  With whole_val (engine_data.h), the last window ends at
 * the last token.  bpb is the loss in bits per byte of text, or NaN without a
 * tokenizer, since the length of the tokens is not known then.  It is an error
 * if there is no target.  A signal that sig.h has caught stops the evaluation.
 *
 * Each source of data.val is evaluated by itself; the loss is the mean over the
 * tokens of all.
 */
struct eval_result {
    double loss, bpb;
    int64_t tokens, bytes;
    double seconds;
    double source_loss[SOURCE_LIST_MOST]; /* of each, in their order */
    bool stopped; /* by a signal to a rank; then nothing else is set */
};

int eval_loss(struct engine *, struct eval_result *, struct err *);

/* The metric of the loss of a source with a name; the caller frees it. */
char *eval_source_metric(const struct mixture *, size_t source);

/* Has any rank caught a signal?  All ranks call this equally often; they
 * exchange the answer only in every eighth turn. */
int eval_check_signals(struct engine *, int64_t turn, bool *stop, struct err *);
