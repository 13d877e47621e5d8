#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/http/http.h"

/*
 * source - read the bytes of a file, inflated if it is compressed
 *
 *      if (source_open(&s, path, -1, NULL, e) < 0)
 *          return -1;
 *      while ((got = source_read(s, buf, sizeof buf, e)) > 0)
 *          use(buf, got);
 *      source_close(s);
 *
 * "-" is standard input, and a URL is read from its server; the http_conf,
 * which may be NULL, is for those.  The first bytes tell whether a file is
 * compressed: it may be gzip, with one member or many, Zstandard, with one
 * frame or many, or anything else, which is read as it is.  source_read() fills
 * the buffer unless the end comes first; it returns 0 at the end, and -1 if the
 * file is damaged or cannot be read.  The error does not name the file, and the
 * bytes returned before it are good.
 *
 * Reading a pipe may block for ever.  If the descriptor `wake` becomes
 * readable, or a signal has come (sig.h), source_read() gives up with
 * ERR_INTERRUPTED; -1 means that no pipe is read.
 */
struct source;

int source_open(struct source **, const char *path, int wake,
                const struct http_conf *, struct err *);
ssize_t source_read(struct source *, void *buf, size_t n, struct err *);
int source_skip(struct source *, int64_t n, struct err *);
void source_close(struct source *);               /* NULL is fine */
int64_t source_taken(const struct source *);      /* bytes read from the file */
const char *source_coding(const struct source *); /* "", "gzip", "zstd" */

/*
 * A format of compressed files.  inflate() moves *at and *left past the input
 * that it has used, and *to past its output.  It returns true at the end of a
 * member or frame; after that it expects the beginning of another.  After an
 * error *damage says what is wrong.
 */
struct inflater {
    const char *name;
    bool is_padded; /* zeros may follow the last member */
    void *(*open)(struct err *);
    bool (*inflate)(void *, const uint8_t **at, size_t *left, uint8_t **to,
                    const uint8_t *end, const char **damage);
    void (*close)(void *);
};

extern const struct inflater gzip_inflater, zstd_inflater;

/* Inflate Zstandard data to exactly `size` bytes. */
int zstd_block(const void *in, size_t n, void *out, size_t size, struct err *);
