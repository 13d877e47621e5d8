#pragma once

#include "common/output/table.h"
#include "data/corpus/corpus.h"
#include "trainer/engine/engine.h"

/*
 * eval_documents - the loss of a model on each document of a text
 *
 *      struct eval_documents d = { .conf = &conf };
 *
 *      if (eval_documents_run(&d, eng, e) < 0)
 *          return -1;
 *      eval_documents_print(&d, &table);       means by position
 *      ... d.kept is the text of the artifact
 *      eval_documents_clear(&d);
 *
 * A document is divided into sequences as long as the context.  The end-of-text
 * token stands before its first token, so that it has a loss, too; without such
 * a token, the first token has none.
 *
 * The artifact has a line for each document, with tabs between: FILE:LINE, the
 * number of losses, their mean, "whole" or "part" if the training text contains
 * so much of it (with train_conf), and the losses with blanks between them.
 */
enum { EVAL_POSITIONS = 24 }; /* 1, 2-3, 4-7 ... */

struct eval_documents {
    const struct corpus_conf *conf;
    const struct corpus_conf *train_conf; /* the training text, or NULL */

    int64_t documents;
    double loss[EVAL_POSITIONS]; /* sums by the position in a document */
    int64_t tokens[EVAL_POSITIONS];
    struct buf kept;
};

int eval_documents_run(struct eval_documents *, struct engine *, struct err *);
void eval_documents_print(const struct eval_documents *, struct table *);
void eval_documents_clear(struct eval_documents *);
