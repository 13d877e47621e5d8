#ifndef DATA_CORPUS_CORPUS_H
#define DATA_CORPUS_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * corpus - documents, out of whatever holds them
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
 * A path is a file, a folder (its files, sorted, and those of its folders) or
 * "-", standard input.  Gzip and Zstandard are recognised by their first
 * bytes; JSON Lines and Parquet by name, or as conf.format says.  A file of
 * plain text is one document, or those between its separators; each line of
 * JSON Lines is one.
 *
 * Documents come in blocks of about CORPUS_BLOCK bytes, numbered from 0 in the
 * order of the input.  A thread of the corpus reads and inflates ahead, a few
 * blocks and no more; what a line needs beyond that (unescaping) is done by
 * the thread that asks.  Any number of threads may call corpus_next() and
 * corpus_done(); each block goes to one of them.
 *
 * A long document of plain text comes in parts, cut before a blank that follows
 * printing ASCII, or before a newline that follows an ASCII letter or digit;
 * where there is none, before white space, or a stop as of Chinese, that
 * follows a letter of any script.  There the pre-tokenizers of GPT-2, cl100k
 * and o200k begin a piece whatever surrounds it, so the ids of the parts are
 * the ids of the whole.  When CORPUS_PART bytes hold no such place it is cut
 * between characters, with a warning.
 *
 * Damage is reported with file and line.  conf.bad says what it costs: the
 * line (the default), the rest of the file, or everything.  A compressed file
 * that ends early gives its whole lines first.
 */
enum { CORPUS_BLOCK = 256 << 10, CORPUS_PART = 16 << 20, CORPUS_KEY = 4096 };

enum corpus_format { CORPUS_AUTO, CORPUS_TEXT, CORPUS_JSONL, CORPUS_PARQUET };

enum corpus_bad {
    CORPUS_SKIP_LINES, /* skip bad lines; a damaged file is an error */
    CORPUS_SKIP_FILES, /* and skip the rest of a damaged file */
    CORPUS_STOP,       /* a bad line is an error */
};

/* Somewhere in the input; documents are whole up to there if !inside. */
struct corpus_place {
    size_t file;    /* index into the list of files */
    int64_t offset; /* in the inflated bytes */
    int64_t line;   /* from 1 */
    bool inside;    /* of a document of plain text */
};

struct corpus_conf {
    char *const *path;
    size_t n;
    enum corpus_format format;
    const char *field;     /* of JSON and Parquet; NULL: "text" */
    const char *separator; /* of plain text; NULL: a file is a document */
    enum corpus_bad bad;
    size_t max_line;                 /* of JSON; 0: 64 MiB */
    const struct corpus_place *from; /* NULL: the beginning */

    /* Would a part that ends at text + at end within a special token?  They
     * may hold blanks.  NULL: there are none. */
    bool (*divides)(const void *arg, const char *text, size_t n, size_t at);
    const void *divides_arg;
};

struct corpus_doc {
    const char *text; /* len bytes; they may hold NULs */
    size_t len;
    int64_t line;      /* where it begins, from 1; a row of Parquet */
    bool begins, ends; /* its document; both, but for parts */
};

struct corpus_block {
    int64_t seq;      /* from 0, no gaps */
    const char *file; /* its name */
    bool json;        /* the text was a JSON string */
    struct corpus_doc *doc;
    size_t n, room;
    struct corpus_place at, next; /* where it was, and what follows it */
    char *data;                   /* what the documents lie in */
    size_t size, data_room;
};

struct corpus_stats {
    int64_t files, documents; /* seen so far */
    int64_t text;             /* bytes of documents */
    int64_t taken, total;     /* bytes of the files, as they lie on disk;
                               * total is -1 when one is a pipe */
    int64_t bad_lines, bad_files;
};

struct corpus;

int corpus_open(struct corpus **, const struct corpus_conf *, struct err *);
int corpus_next(struct corpus *, struct corpus_block **, struct err *);
void corpus_done(struct corpus *, struct corpus_block *);
void corpus_stats(struct corpus *, struct corpus_stats *);

/* Says what was skipped.  NULL is fine, and at any time. */
void corpus_close(struct corpus *);

/*
 * Which split a document belongs to is decided by a hash of its first
 * CORPUS_KEY bytes; so equal documents are always on one side, whatever files
 * they come from.  doc must begin.  corpus_doc_in_share() holds for about
 * `share` of all documents.
 */
bool corpus_doc_in_share(const struct corpus_doc *, double share);

/*
 * The options of a command that reads text; they are the same everywhere:
 *
 *      static struct corpus_opts input;
 *      const struct opt x_opts[] = { CORPUS_OPTS(input), { 0 } };
 *
 *      if (corpus_conf_set(&conf, &input, argv, argc, e) < 0)
 */
struct corpus_opts {
    const char *input, *field, *separator, *bad;
};

/* clang-format off */
#define CORPUS_OPTS(o) \
    { 0, "input", "kind", OPT_STRING, &(o).input, \
      "read KIND: text, jsonl, parquet, or what the name tells (auto)" }, \
    { 0, "field", "name", OPT_STRING, &(o).field, \
      "the string of JSON, or column, that is the text (text)" }, \
    { 0, "separator", "text", OPT_STRING, &(o).separator, \
      "TEXT ends a document of plain text" }, \
    { 0, "bad", "what", OPT_STRING, &(o).bad, \
      "damage costs the lines, the rest of files, or is a stop (lines)" }
/* clang-format on */

int corpus_conf_set(struct corpus_conf *, const struct corpus_opts *,
                    char *const *path, int n, struct err *);

#endif
