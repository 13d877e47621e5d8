/*
 * algorithms - the file of cuBLASLt's fastest algorithms
 */
#include "config.h"
#include "kernels/cuda/algorithms.h"

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, WORDS = 8 };
enum { NUMBERS = sizeof(struct algorithms_key) / sizeof(int64_t) };

/* A line of NUMBERS decimal numbers and WORDS hexadecimal ones. */
static bool read_line(char *s, struct algorithms_line *out)
{
    int64_t *key = (int64_t *)&out->key;
    char *end = s;

    for (int i = 0; i < NUMBERS; i++, s = end) {
        key[i] = strtoll(s, &end, 10);
        if (end == s)
            return false;
    }
    for (int i = 0; i < WORDS; i++, s = end) {
        out->algo.data[i] = strtoull(s, &end, 16);
        if (end == s)
            return false;
    }
    return *end == '\0';
}

void algorithms_open(struct algorithms *f, const char *gpu, size_t version)
{
    AUTO_FREE char *name = xasprintf("matmul-%s-%zu", gpu, version);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    struct err e = { 0 };
    char *at = NULL, *line;

    *f = (struct algorithms){ 0 };
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '-';
    f->path = path_cache("gtrain", name);
    if (f->path && buf_read_file(&text, f->path, MOST_BYTES, &e) == 0)
        at = text.s;
    while ((line = strsep(&at, "\n")) && *line) {
        struct algorithms_line one;

        if (read_line(line, &one))
            APPEND(f->line, f->n, f->room) = one;
    }
}

bool algorithms_find(const struct algorithms *f,
                     const struct algorithms_key *key,
                     struct cublaslt_algo *out)
{
    for (int i = 0; i < f->n; i++) {
        if (memcmp(&f->line[i].key, key, sizeof *key) == 0) {
            *out = f->line[i].algo;
            return true;
        }
    }
    return false;
}

static void write_lines(const struct algorithms *f)
{
    AUTO(save_abandon) struct save s = { 0 };
    struct err e = { 0 };

    if (save_open(&s, f->path, &e) < 0)
        return; /* the next process measures again */
    for (int i = 0; i < f->n; i++) {
        const int64_t *key = (const int64_t *)&f->line[i].key;

        for (int j = 0; j < NUMBERS; j++)
            fprintf(s.fp, "%" PRId64 " ", key[j]);
        for (int j = 0; j < WORDS; j++)
            fprintf(s.fp, "%" PRIx64 "%s", f->line[i].algo.data[j],
                    j + 1 < WORDS ? " " : "\n");
    }
    save_commit(&s, &e);
}

void algorithms_add(struct algorithms *f, const struct algorithms_key *key,
                    const struct cublaslt_algo *algo)
{
    APPEND(f->line, f->n, f->room) = (struct algorithms_line){ *key, *algo };
    if (f->path)
        write_lines(f);
}

void algorithms_close(struct algorithms *f)
{
    FREE(f->path, f->line);
    *f = (struct algorithms){ 0 };
}
