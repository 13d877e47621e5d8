#ifndef DATA_CORPUS_FETCH_H
#define DATA_CORPUS_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/http.h"
#include "common/sha256.h"
#include "data/corpus/catalog.h"

/*
 * fetch - a file from a server, whole, whatever happens on the way
 *
 * What has come so far is in FILE.part, and the tag of the version it belongs
 * to in FILE.part.tag; the next try, also of another process, asks for the
 * rest.  When all of it is there, its size, its SHA-256 (if it is known) and,
 * for gzip, its own check sums are compared; then it gets its name.  A file
 * that is there is not fetched again, only compared with the SHA-256, if that
 * is known.
 */
struct fetched {
    int64_t size;
    char sha256[SHA256_TEXT];
    bool was_there;
};

/* Called as bytes come in; total is -1 while it is not known. */
typedef void fetch_progress_fn(void *arg, int64_t now, int64_t total);

struct fetch {
    struct http *http;
    const char *token;        /* for huggingface.co alone, or NULL */
    fetch_progress_fn *moved; /* or NULL */
    void *arg;
};

int fetch_file(const struct fetch *, const struct catalog_link *,
               const char *path, struct fetched *, struct err *);

/* The bytes to a descriptor; a reader that closed it ends the fetch well. */
int fetch_pipe(const struct fetch *, const struct catalog_link *, int fd,
               bool *closed, struct err *);

#endif
