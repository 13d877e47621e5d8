#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/save.h"

/*
 * shard - read and write files of token ids
 *
 *      llmc   256 int32: magic 20240520, version 1, count; then uint16 ids.
 *             With uint32 ids: magic 20240801, version 7 (llm.c's Llama 3
 *             files).  The default.
 *      raw    ids without a header, uint16 (nanoGPT) or uint32
 *      npy    NumPy's format 1.0, '<u2' or '<u4' (build-nanogpt)
 *
 * All numbers are little-endian.  The highest bit of an id of four bytes marks
 * a token that is read, but not predicted (SHARD_UNSCORED).  Writing:
 *
 *      struct shard_out out = { 0 };
 *
 *      if (shard_begin(&out, path, SHARD_LLMC, 2, 0, e) < 0)
 *          return -1;
 *      shard_add(&out, ids, n)                any number of times
 *      return shard_commit(&out, e);
 *
 * The file gets its name, complete, when it is committed; earlier errors are
 * reported then.  Ids are uint16_t or uint32_t for a width of 2 or 4 bytes;
 * shard_width() returns the width that a vocabulary needs.
 *
 * Reading maps the file, after its size was compared with its header, so ids
 * 0 .. n-1 can be read.  The width is used only for raw files, which have no
 * header; 0 means 2.  A file with the name of a text file (corpus_files.h) is
 * rejected.
 */
enum shard_format { SHARD_LLMC, SHARD_RAW, SHARD_NPY };

/* "llmc", "raw", "npy", in the order of the enum, ended by NULL. */
extern const char *const shard_formats[];

const char *shard_suffix(enum shard_format); /* ".bin" or ".npy" */
/* Write the header of NumPy's format, for a type such as "<f4" and the numbers
 * of a shape, such as "1000," or "20, 30". */
void shard_npy_header(FILE *, const char *type, const char *shape);

struct shard {
    char *path;
    enum shard_format format;
    int width;       /* bytes of an id: 2 or 4 */
    bool marked;     /* set by callers that want the marks */
    int64_t n;       /* ids */
    const void *ids; /* inside the map */
    void *map;
    size_t size; /* of the file */
    struct stat was;
};

int shard_open(struct shard *, const char *path, int width, struct err *);
void shard_close(struct shard *); /* a zeroed one is fine */

/*
 * Copy n ids from number i on, and say which is the largest, unless `max` is
 * NULL, so that the caller can compare it with its vocabulary.  Marks are left
 * out, unless the shard is marked, so that these ids become negative.
 * Fails if the file was cut since it was opened, or if its disk fails.  To scan
 * a shard, copy SHARD_BLOCK ids at a time, and call shard_check() at the end.
 */
enum { SHARD_BLOCK = 1 << 14, SHARD_UNSCORED = INT32_MIN };

int shard_copy(const struct shard *, int64_t i, int64_t n, int32_t *out,
               uint32_t *max, struct err *);

/* Have the pages of n ids from number i on read, if that is possible. */
void shard_touch(const struct shard *, int64_t i, int64_t n);

/* Fail if the file was written to or cut since it was opened.  One that was
 * removed, or replaced by another of its name, is still mapped as it was. */
int shard_check(const struct shard *, struct err *);

/* Hash the size and the content of a file of up to 1 MiB, or 64 evenly spaced
 * blocks of 4 KiB of a larger one. */
struct sha256;
int shard_sample(const struct shard *, struct sha256 *, struct err *);

struct shard_out {
    struct save save;
    enum shard_format format;
    int width;
    int64_t n;
};

int shard_width(int64_t vocab); /* 2 for up to 65536 ids, else 4 */
void shard_add(struct shard_out *, const void *ids, size_t n);

/*
 * An incomplete file is called PATH.part.  shard_sync() writes it to disk, and
 * adds the ids to the hash that were written since the hash was made; after a
 * crash shard_begin() with the n of that moment continues after the first n
 * ids; n = 0 starts a new file.  shard_keep() closes the file and leaves it as
 * it is.
 */
int shard_begin(struct shard_out *, const char *path, enum shard_format,
                int width, int64_t n, struct err *);
int shard_sync(struct shard_out *, struct sha256 *, struct err *);
void shard_keep(struct shard_out *);
int shard_commit(struct shard_out *, struct err *);
