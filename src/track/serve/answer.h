#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/output/emit.h"

/*
 * answer - what the server sends back
 *
 * A handler writes the members of an object to `out`, or fills in the body; or
 * it returns -1 with an err, of which answer_error() makes {"error":"..."}.
 */
struct answer {
    int status;       /* of HTTP; 0: 200, or what follows from the err */
    const char *type; /* of the body; NULL: JSON */
    uint64_t mark;    /* of a body that can be asked for as a delta; or 0 */
    struct buf body;
    struct emit out; /* to the body */
    int fd;          /* a file instead of the body, or -1 */
    uint64_t size;   /* of the file */
    char *file;      /* the name under which a browser saves it, or NULL */
    bool attach;     /* it is to be saved, not shown */
    bool sandbox;    /* what it may contain must not run, as in SVG */
    int stream;      /* of the events of this store, from 1 on; or 0 */
};

#define ANSWER_INIT ((struct answer){ .body = BUF_INIT, .fd = -1 })

/* Replace the body by an error. */
void answer_error(struct answer *, const struct err *);
void answer_clear(struct answer *);

/* ---- a shorter body for a client that can read it ------------------------ */

/* Does the header Accept-Encoding, or NULL, have gzip? */
bool answer_gzip_is_wanted(const char *accepted);
/* Replace a body by the compressed one; false if it stays as it was, because it
 * is short or there is no memory.  A figure of many curves, a text of digits,
 * becomes a third as long. */
bool answer_gzip(struct buf *);

/*
 * file_kind - how an artifact is shown, by its name
 *
 * A type is one that a browser shows and never runs: HTML and scripts are plain
 * text, and an SVG may only be an image.
 */
struct file_kind {
    const char *name; /* "text", "image", "audio", "binary" ... */
    const char *type; /* of HTTP */
    bool sandbox;     /* it might contain something that runs */
};

const struct file_kind *file_kind_of(const char *path);

/*
 * cache - the last answers, for other pages with the same request
 *
 *      if (!cache_get(&c, url, version, 2, &body)) {
 *          ...
 *          cache_put(&c, url, version, &body);
 *      }
 *
 * An answer is valid for one version of a store, and for a number of seconds at
 * most.  The oldest ones make room for others.
 */
enum { CACHE_ANSWERS = 64, CACHE_BYTES = 16 << 20 };

struct cache {
    struct cached {
        char *url;
        int64_t version;
        double at; /* by clock_mono() */
        struct buf body;
    } item[CACHE_ANSWERS];
    size_t next; /* the oldest */
    size_t bytes;
};

/* Append the answer; false if there is none. */
bool cache_get(const struct cache *, const char *url, int64_t version,
               double seconds, struct buf *);
/* An equal request's answer of any version that has this mark; or NULL. */
const struct buf *cache_find(const struct cache *, const char *url,
                             const char *mark);
uint64_t cache_mark(const struct buf *);
void cache_put(struct cache *, const char *url, int64_t version,
               const struct buf *);
void cache_clear(struct cache *);

/* Make an answer what differs from the answer before it:
 *
 *      {"delta":[[0,12],"{\"id\":\"...\"}",[14,300]]}
 *
 * Both texts are cut before each { and [.  A pair of numbers stands for as many
 * pieces of the old text, from the first one on; a string is new text.  The
 * page puts them together again (api.js). */
void cache_delta(struct buf *answer, const struct buf *old);
