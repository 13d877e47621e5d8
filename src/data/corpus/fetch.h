#ifndef DATA_CORPUS_FETCH_H
#define DATA_CORPUS_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/http.h"
#include "common/sha256.h"
#include "data/corpus/catalog.h"

/*
 * fetch - download a file, resuming after interruptions
 *
 * The part received so far is in FILE.part, and the tag of its version in
 * FILE.part.tag; the next try, also by another process, requests the rest. When
 * the file is complete, its size, its SHA-256 (if known) and the checksums of
 * gzip are verified, and that it is not an HTML page in place of a corpus; then
 * it gets its name.  A file that exists already is not downloaded; only its
 * SHA-256 is verified, if known.
 */
struct fetched {
    int64_t size;
    char sha256[SHA256_TEXT];
    bool existed;
};

/* Called as bytes arrive; total is -1 if it is unknown. */
typedef void fetch_progress_fn(void *arg, int64_t now, int64_t total);

/* Without a network, names are not tried as often as servers. */
enum { FETCH_NAME_TRIES = 2 };

struct fetch {
    struct http *http;           /* with FETCH_NAME_TRIES */
    const char *token;           /* sent only to huggingface.co; or NULL */
    fetch_progress_fn *progress; /* or NULL */
    void *arg;
};

/* The options of commands that read URLs; `o` is a struct http_conf. */
/* clang-format off */
#define FETCH_OPTS(o) \
    { 0, "tries", "count", OPT_INT, &(o).tries, \
      "give up a URL after COUNT tries without any data (default: 6)" }, \
    { 0, "wait", "time", OPT_SECS, &(o).wait, \
      "wait TIME after the first try, then twice as long (default: 1s)" }, \
    { 0, "stall", "time", OPT_SECS, &(o).stall, \
      "end a try when no data arrives for TIME (default: 60s)" }
/* clang-format on */

int fetch_file(const struct fetch *, const struct catalog_link *,
               const char *path, struct fetched *, struct err *);

/* Write the file to a descriptor.  If its reader has closed it, *closed is set,
 * and that is not an error. */
int fetch_pipe(const struct fetch *, const struct catalog_link *, int fd,
               bool *closed, struct err *);

#endif
