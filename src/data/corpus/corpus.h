#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/http/http.h"
#include "data/corpus/corpus_files.h"
#include "data/token/pretokenize.h"

/*
 * corpus - read documents from files of any supported format
 *
 *      struct corpus_conf c = { .path = argv, .n = (size_t)argc };
 *      struct corpus_block *b;
 *
 *      if (corpus_open(&corpus, &c, e) < 0)
 *          return -1;
 *      while ((got = corpus_next(corpus, &b, e)) > 0) {
 *          for (size_t i = 0; i < b->n; i++)
 *              use(b->doc[i].text, b->doc[i].len);
 *          corpus_done(corpus, b);
 *      }
 *      corpus_close(corpus);
 *
 * A path is a file, a folder (corpus_files.h), a URL or "-", standard input.
 * Gzip and Zstandard are recognised by the first bytes; JSON Lines and Parquet
 * by name, or as conf.format says.  A file of plain text is one document, or
 * several with a separator between them; each line of JSON Lines is a document.
 *
 * Documents come in blocks of about CORPUS_BLOCK bytes, numbered from 0 in the
 * order of the input.  A thread of the corpus reads and inflates a few blocks
 * ahead; the thread that asks for a block decodes its lines.  Any number of
 * threads may call corpus_next() and corpus_done(); each block is given to one
 * of them.
 *
 * A long document of plain text comes in parts.  It is divided before a blank
 * that follows printable ASCII, or before a newline that follows an ASCII
 * letter or digit; without one, before white space or Chinese punctuation that
 * follows a letter of any script.  All pre-tokenizers of byte-level BPE begin a
 * piece there whatever the surrounding text, so the ids of the parts are the
 * ids of the whole; conf.boundary is for other tokenizers.  If CORPUS_PART
 * bytes have no such position, the text is divided between two characters, with
 * a warning.
 *
 * Errors in the input are reported with file and line, and conf.bad tells what
 * to skip.  If too many lines were bad (conf.good), the end is an error.  A
 * file that is no text, but an archive or the like, is damaged.  A compressed
 * file that ends early gives its complete lines first.
 */
enum { CORPUS_BLOCK = 256 << 10, CORPUS_PART = 16 << 20, CORPUS_KEY = 4096 };

enum corpus_bad {
    CORPUS_SKIP_LINES, /* skip bad lines; a damaged file is an error */
    CORPUS_SKIP_FILES, /* also skip the rest of a damaged file */
    CORPUS_STOP,       /* a bad line is an error */
};

/* A position in the input. */
struct corpus_place {
    size_t file;    /* index in the list of files */
    int64_t offset; /* in the inflated bytes; a row of Parquet */
    int64_t line;   /* from 1 */
    bool inside;    /* a document of plain text */
};

struct corpus_conf {
    char *const *path;
    size_t n;
    enum corpus_format format;
    const char *field;     /* of JSON or Parquet; NULL: "text" */
    const char *separator; /* of plain text; NULL: a file is a document */
    const char *where;     /* a filter of documents by their fields (where.h),
                            * or NULL */
    const char *part;      /* of the files (corpus_files_part()), or NULL */
    enum corpus_bad bad;
    const char *again; /* an option that reads it several times, or NULL */
    bool quiet;        /* about what is skipped */
    bool keep_lines;   /* as JSON, in corpus_doc */
    bool chat;         /* documents are conversations (jsonl.h) */
    size_t max_line;   /* bytes of JSON; 0: 64 MiB */
    double good;       /* the least share of lines that are not
                                      * bad; fewer are an error */
    const struct http_conf *http;    /* for URLs; NULL: the defaults */
    const struct corpus_place *from; /* NULL: the beginning */
    int64_t had, had_bad;            /* documents and bad lines before it */

    /* special tokens, at which a document is not divided */
    const struct boundary_word *special;
    size_t n_special;
    enum boundary_kind boundary; /* where else it is not divided */
};

struct corpus_doc {
    const char *text; /* len bytes, which may include NULs */
    size_t len;
    const char *file;  /* set by corpus_each() */
    int64_t line;      /* its first line, from 1; a row of Parquet */
    const char *whole; /* its line of JSON, if lines are kept, or NULL */
    size_t whole_len;
    int64_t invalid;   /* bytes that are not UTF-8 */
    bool begins, ends; /* a document; both are set unless it is a part */
};

struct corpus_block {
    int64_t seq;      /* its number */
    const char *file; /* the name of the file */
    bool json;        /* not plain text */
    struct corpus_doc *doc;
    size_t n, room;
    int64_t bad, left_out;        /* lines that were skipped; not chosen */
    struct corpus_place at, next; /* its position, and the one after it */
    int64_t text_at;              /* bytes of documents before it */
    char *data;                   /* contains the documents */
    size_t size, data_room;
    char *lines; /* a copy of the data, if lines are kept */
    size_t lines_room;
};

struct corpus_stats {
    int64_t files, documents;     /* so far */
    int64_t text;                 /* bytes of documents */
    int64_t invalid;              /* of these, not UTF-8 */
    int64_t taken, total;         /* bytes of the files, compressed or not;
                                   * total is -1 if one is a pipe */
    int64_t bad_lines, bad_files; /* skipped */
    int64_t left_out;             /* documents that `where` does not choose */
};

struct corpus;

int corpus_open(struct corpus **, const struct corpus_conf *, struct err *);
int corpus_next(struct corpus *, struct corpus_block **, struct err *);
void corpus_done(struct corpus *, struct corpus_block *);
void corpus_stats(struct corpus *, struct corpus_stats *);

/* Also reports what was skipped.  May be called at any time; NULL is fine. */
void corpus_close(struct corpus *);

/*
 * Work on all blocks, in several threads at once.
 *
 *      struct corpus_work w = { .find = count_block, ... };
 *
 *      if (corpus_work(corpus, &w, e) < 0)
 *
 * Each block is given to find(), with the worker of the thread, an element of
 * an array.  What that puts into the place, which is one of CORPUS_PLACES, is
 * given to write(), in the order of the blocks and by one thread at a time.
 * write() may return 1, enough.  -1 is an error; of several, the first one in
 * the order of the input is reported.
 */
enum { CORPUS_PLACES = 64 };

struct corpus_work {
    int (*find)(void *worker, void *place, const struct corpus_block *,
                struct err *);
    int (*write)(void *arg, void *place, struct err *); /* or NULL */
    void *worker, *arg, *place;
    size_t worker_size, place_size;
    int threads;
    bool whole;     /* blocks that share a document go to one worker, in
                     * order */
    bool positions; /* each block has its text_at */
};

int corpus_work(struct corpus *, const struct corpus_work *, struct err *);

/*
 * Call a function for each document, in order, with its parts joined, until it
 * returns -1, an error, or 1, enough.
 */
typedef int corpus_doc_fn(void *arg, const struct corpus_doc *, struct err *);

int corpus_each(const struct corpus_conf *, corpus_doc_fn *, void *arg,
                struct err *);

/* The same for the documents that end in a block. */
struct corpus_join {
    struct corpus_doc doc;
    struct buf text; /* of its parts */
};

#define CORPUS_JOIN_INIT ((struct corpus_join){ .text = BUF_INIT })

int corpus_join(struct corpus_join *, const struct corpus_block *,
                corpus_doc_fn *, void *arg, struct err *);

/*
 * True for about this share of all documents.  It is decided by a hash of the
 * first CORPUS_KEY bytes, so equal documents are never divided between training
 * and validation.  The doc must be the beginning of a document.
 */
bool corpus_doc_in_share(const struct corpus_doc *, double share);

/*
 * The options of all commands that read text:
 *
 *      static struct corpus_opts input = CORPUS_OPTS_INIT;
 *      const struct opt x_opts[] = { CORPUS_OPTS(input), { 0 } };
 *
 *      if (corpus_conf_set(&conf, &input, argv, argc, e) < 0)
 */
struct corpus_opts {
    int format, bad; /* enum corpus_format, corpus_bad */
    const char *field, *separator, *where, *part;
    double max_bad; /* share of lines */
};

#define CORPUS_OPTS_INIT ((struct corpus_opts){ .max_bad = 0.01 })

extern const char *const corpus_formats[], *const corpus_bad_words[];

/* clang-format off */
#define CORPUS_OPTS(o) \
    { 0, "input", "kind", OPT_WORD, &(o).format, \
      "read text, jsonl, parquet, or auto, by name (default: auto)", \
      corpus_formats }, \
    { 0, "field", "name", OPT_STRING, &(o).field, \
      "read this field of JSON or column of Parquet (default: text)" }, \
    { 0, "where", "filter", OPT_STRING, &(o).where, \
      "read only documents whose fields match: 'score >= 3'" }, \
    { 0, "part", "part", OPT_STRING, &(o).part, \
      "read only this part of the files, as in 3/16" }, \
    { 0, "separator", "text", OPT_STRING, &(o).separator, \
      "end a document of plain text at TEXT" }, \
    { 0, "bad", "what", OPT_WORD, &(o).bad, \
      "skip bad lines, also the rest of bad files, or stop (default: lines)", \
      corpus_bad_words }, \
    { 0, "max-bad", "share", OPT_REAL, &(o).max_bad, \
      "fail if more than SHARE of the lines are bad (default: 1%)", \
      .range = { 0, 1 } }
/* clang-format on */

int corpus_conf_set(struct corpus_conf *, const struct corpus_opts *,
                    char *const *path, int n, struct err *);
