#ifndef DATA_SHARDS_SHARD_H
#define DATA_SHARDS_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/save.h"

/*
 * shard - files of token ids
 *
 *      llmc   256 int32: magic 20240520, version 1, count; then uint16 ids.
 *             With uint32 ids: magic 20240801, version 7 (llm.c's Llama 3
 *             files).  The default.
 *      raw    ids and nothing else, uint16 (nanoGPT) or uint32
 *      npy    NumPy's format 1.0, '<u2' or '<u4' (build-nanogpt)
 *
 * All numbers are little-endian.  Writing:
 *
 *      struct shard_out out = SHARD_OUT_INIT;
 *
 *      if (shard_begin(&out, path, SHARD_LLMC, 2, 0, e) < 0)
 *          return -1;
 *      shard_add(&out, ids, n)                any number of times
 *      return shard_commit(&out, e);
 *
 * The file appears, whole, under its name when it is committed; what failed
 * before is reported there.  Ids are given as uint16_t or uint32_t, as the
 * width (2 or 4 bytes) says; shard_width() tells which a vocabulary needs.
 *
 * Reading maps the file.  Its size is compared with what its header promises
 * first, so ids 0 .. n-1 are there.  A raw file has no header: its width must
 * be told (0 means 2 for a raw file, and what the file says otherwise), and a
 * name that is one of text (corpus_files.h) is refused.
 */
enum shard_format { SHARD_LLMC, SHARD_RAW, SHARD_NPY };

struct shard {
    char *path;
    enum shard_format format;
    int width;       /* bytes an id: 2 or 4 */
    int64_t n;       /* ids */
    const void *ids; /* inside the map */
    void *map;
    size_t size; /* of the file */
};

#define SHARD_INIT                                                             \
 {                                                                             \
  NULL, SHARD_LLMC, 0, 0, NULL, NULL, 0                                        \
 }

int shard_open(struct shard *, const char *path, int width, struct err *);
void shard_close(struct shard *); /* a zeroed one is fine */

static inline uint32_t shard_id(const struct shard *s, int64_t i)
{
    return s->width == 2 ? ((const uint16_t *)s->ids)[i]
                         : ((const uint32_t *)s->ids)[i];
}

/*
 * Copy n ids from number i on.  Returns the largest of them, so that the
 * caller can refuse what its vocabulary does not hold; ids of 2^31 and more
 * are copied as they are and so become negative.
 */
uint32_t shard_copy(const struct shard *, int64_t i, int64_t n, int32_t *out);

/* Add the size and a sample of the content: all of a file of 1 MiB or less,
 * else 64 blocks of 4 KiB, spread evenly. */
struct sha256;
void shard_sample(const struct shard *, struct sha256 *);

struct shard_out {
    struct save save;
    enum shard_format format;
    int width;
    int64_t n;
};

#define SHARD_OUT_INIT                                                         \
 {                                                                             \
  SAVE_INIT, SHARD_LLMC, 0, 0                                                  \
 }

int shard_width(int64_t vocab); /* 2 up to 65536 ids, else 4 */
void shard_add(struct shard_out *, const void *ids, size_t n);

/*
 * What is written so far is in PATH.part, where it can be found again:
 * shard_sync() puts it on disk, and after a crash shard_begin() with the n of
 * that moment goes on behind the first n ids.  With n = 0 it begins anew.
 * shard_keep() closes the file and leaves it.
 */
int shard_begin(struct shard_out *, const char *path, enum shard_format,
                int width, int64_t n, struct err *);
int shard_sync(struct shard_out *, struct err *);
void shard_keep(struct shard_out *);
int shard_commit(struct shard_out *, struct err *);
void shard_abandon(struct shard_out *); /* harmless after a commit */

/* "llmc", "raw", "npy"; and the ending of file names, ".bin" or ".npy". */
int shard_format_from(const char *name, enum shard_format *, struct err *);
const char *shard_format_name(enum shard_format);
const char *shard_suffix(enum shard_format);

#endif
