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
