#ifndef DATA_CORPUS_SOURCE_H
#define DATA_CORPUS_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/*
 * source - the bytes of a file, inflated if they are compressed
 *
 *      if (source_open(&s, path, -1, e) < 0)
 *          return -1;
 *      while ((got = source_read(s, buf, sizeof buf, e)) > 0)
 *          use(buf, got);
 *      source_close(s);
 *
 * "-" is standard input.  What the bytes are is told by the first of them:
 * gzip (one member or many), Zstandard (one frame or many), anything else is
 * passed through.  source_read() fills the buffer unless the end comes first;
 * 0 is the end, -1 damage or a failure to read, which leaves in *e what is
 * wrong but not where; the bytes given before are good.
 *
 * Reading a pipe may take for ever.  When `wake`, a descriptor, becomes
 * readable, source_read() gives up with ERR_INTERRUPTED; -1 is none.
 */
struct source;

int source_open(struct source **, const char *path, int wake, struct err *);
ssize_t source_read(struct source *, void *buf, size_t n, struct err *);
int source_skip(struct source *, int64_t n, struct err *);
void source_close(struct source *);               /* NULL is fine */
int64_t source_taken(const struct source *);      /* bytes of the file so far */
const char *source_coding(const struct source *); /* "", "gzip", "zstd" */

/*
 * Behind it: an input buffer over a descriptor, and one decoder for each
 * coding.  source_fill() makes bytes available at `at`; 0 at the end.
 */
enum { SOURCE_BUFFER = 256 * 1024 };

struct source_input {
    int fd, wake;
    unsigned char *buf;
    const unsigned char *at;
    size_t left;
    int64_t taken;
};

ssize_t source_fill(struct source_input *, struct err *);

/* Behind a member of gzip: 1 if another begins at `at`; 0 if zeros fill up the
 * file, and are passed; -1 if it is something else. */
int source_next_member(struct source_input *);

struct inflater {
    const char *name;
    unsigned char magic[4], mask[4]; /* the first bytes, where mask has bits */
    void *(*open)(struct err *);
    ssize_t (*read)(void *, struct source_input *, void *buf, size_t n,
                    struct err *);
    void (*close)(void *);
};

/* _skip_ is for Zstandard that begins with a frame to be skipped. */
extern const struct inflater gzip_inflater, zstd_inflater, zstd_skip_inflater;

/* One block of Zstandard that inflates to exactly `size` bytes. */
int zstd_block(const void *in, size_t n, void *out, size_t size, struct err *);

#endif
