#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/sha256.h"

/*
 * bundle - an archive that gtrack bundle has written, unpacked and compared
 *
 *      if (bundle_unpack(&u, "paper.tar", folder, e) < 0)
 *          return -1;
 *      printf("%s\n", u.head);
 *
 * A file that is missing, is not listed in MANIFEST, or has another content
 * than MANIFEST says is ERR_INPUT.  Nothing is written outside of the folder,
 * which must be empty.
 */
#define BUNDLE_MANIFEST "MANIFEST"
enum { BUNDLE_MANIFEST_MAX = 256 << 20 };

struct bundle_unpacked {
    int64_t files;          /* MANIFEST included */
    char head[SHA256_TEXT]; /* the SHA-256 of MANIFEST */
};

int bundle_unpack(struct bundle_unpacked *, const char *path,
                  const char *folder, struct err *);

/* Copy this many bytes, and hash them; false if the input has fewer. */
bool bundle_copy(FILE *in, FILE *out, int64_t size, struct sha256 *);

/* The folder in an archive of this name: "paper" of "out/paper.tar".  The
 * caller frees it. */
char *bundle_top(const char *path);

/* Signatures of MANIFEST by ssh-keygen(1), in the namespace "gtrack": the key
 * is a private one or, of one that an agent has, the public one.  A signature
 * by another key than that in the file `key` is ERR_INPUT. */
#define BUNDLE_SIGNATURE ".sig" /* the ending of the file beside the archive */

int bundle_sign(struct buf *signature, const char *key, const struct buf *text,
                struct err *);
int bundle_check_signature(const char *file, const char *key,
                           const struct buf *text, struct err *);

/*
 * tar - the heads of files in a tar archive, in the format of POSIX (ustar)
 *
 *      tar_write_head(fp, "paper/README", size, e)     for each file
 *      ... write its size bytes ...
 *      tar_write_pad(fp, size);
 *      tar_write_end(fp);                              at the end
 *
 *      while ((n = tar_read_head(fp, &head, e)) > 0)
 *          ... read head.size bytes ...
 *          tar_read_pad(fp, head.size, e)
 *
 * Only regular files are written and read, without owners and times, so the
 * same files give the same archive.  Sizes are of any length.  Writing does not
 * report failures of the disk; the caller looks at the stream at the end.
 */
enum { TAR_NAME = 257 };

struct tar_head {
    char name[TAR_NAME];
    int64_t size;
};

/* Fails if the name is too long for the format. */
int tar_write_head(FILE *, const char *name, int64_t size, struct err *);
void tar_write_pad(FILE *, int64_t size);
void tar_write_end(FILE *);

/* 1, or 0 at the end of the archive, or -1.  Anything but a regular file in the
 * archive is an error; the name may still lead anywhere. */
int tar_read_head(FILE *, struct tar_head *, struct err *);
int tar_read_pad(FILE *, int64_t size, struct err *);

/* Report that less could be read than there should be; -1. */
int tar_ended(FILE *, struct err *);
