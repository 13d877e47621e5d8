#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/sha256.h"
#include "data/corpus/catalog.h"
#include "data/corpus/source/download.h"

/*
 * fetch - download a file, resuming after interruptions
 *
 * The part received so far is in FILE.part, which is locked; the tag of its
 * version, its size and its SHA-256 are in FILE.part.tag.  The next try, also
 * by another process, requests the rest.  When the file is complete, its size,
 * its SHA-256 (if known) and the checksums of gzip are verified, and that it is
 * not an HTML page in place of a corpus; then it gets its name.  A file that
 * exists already is not downloaded; only its SHA-256 is verified, if known.
 */
struct fetched {
    int64_t size;
    char sha256[SHA256_TEXT];
    bool existed;
};

int fetch_file(const struct download *, const struct catalog_link *,
               const char *path, struct fetched *, struct err *);
