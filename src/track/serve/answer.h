#pragma once

#include <stdbool.h>
#include <stdint.h>

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
