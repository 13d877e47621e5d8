#pragma once

#include <stddef.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/save.h"
#include "data/corpus/corpus.h"

/*
 * corpus_writer - write documents of a corpus as JSON Lines
 *
 *      if (corpus_writer_open(&w, "out.jsonl", &conf, e) < 0)
 *          return -1;
 *      ret = corpus_each(&conf, ...  corpus_write(&w, doc, NULL, 0)  ..., e);
 *      return corpus_writer_close(&w, ret, e);
 *
 * corpus_write() writes the line that the document was read from, with all its
 * fields, or an object with the field "text"; with another text, unless that is
 * NULL.  It returns 1 if writing has failed, for corpus_each(), and
 * corpus_writer_close() tells why.  The output is a file, which appears if all
 * succeeded, or "-", standard output.
 */
struct corpus_writer {
    FILE *fp;
    const char *field; /* that is read */
    struct buf line;
    struct save save;
};

/* Also lets the corpus keep its lines. */
int corpus_writer_open(struct corpus_writer *, const char *output,
                       struct corpus_conf *, struct err *);
int corpus_write(struct corpus_writer *, const struct corpus_doc *,
                 const char *text, size_t n);
/* The line alone, appended to others. */
void corpus_writer_line(const struct corpus_writer *, struct buf *lines,
                        const struct corpus_doc *, const char *text, size_t n);
int corpus_writer_close(struct corpus_writer *, int ret, struct err *);

/*
 * Call a function for each document, in n threads, and write what it appends to
 * the lines of its worker, in the order of the input.  Workers are structs of
 * `size` bytes that begin with a corpus_rewriter, and the second output may be
 * NULL.
 */
struct corpus_rewriter {
    corpus_doc_fn *fn;
    struct corpus_join join;
    struct buf *lines; /* [2] */
};

int corpus_rewrite(const struct corpus_conf *, corpus_doc_fn *, void *workers,
                   size_t size, int n, struct corpus_writer *out[2],
                   struct err *);
