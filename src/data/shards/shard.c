#include "config.h"
#include "data/shards/shard.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/save.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/sha256.h"
#include "data/corpus/corpus_files.h"

enum {
    PAGE = 4096,
    LLMC_HEADER = 256 * 4,
    LLMC_MAGIC = 20240520,
    LLMC_VERSION = 1,
    LLAMA_MAGIC = 20240801,
    LLAMA_VERSION = 7,
    EVAL_MAGIC = 20240522,
    TOKENIZER_MAGIC = 20240328,
    NPY_MAGIC = 6, /* bytes */
    LOCK_MAGIC = 11,
    NPY_HEADER = 128, /* bytes that are written for any count */
};

static const char npy_magic[NPY_MAGIC + 1] = "\x93NUMPY";

const char *const shard_formats[] = {
    [SHARD_LLMC] = "llmc", [SHARD_RAW] = "raw", [SHARD_NPY] = "npy", NULL
};

const char *shard_suffix(enum shard_format f)
{
    return f == SHARD_NPY ? ".npy" : ".bin";
}

int shard_width(int64_t vocab)
{
    return vocab <= 65536 ? 2 : 4;
}

static int32_t header_word(const struct shard *s, int i)
{
    int32_t w;

    memcpy(&w, (const char *)s->map + 4 * i, sizeof w);
    return w;
}

static int read_llmc(struct shard *s, struct err *e)
{
    const bool wide = header_word(s, 0) == LLAMA_MAGIC;
    const int version = wide ? LLAMA_VERSION : LLMC_VERSION;
    size_t want;

    if (s->size < LLMC_HEADER)
        return err_input(
            e, "%s: the file has only %zu bytes, but the header has %d",
            s->path, s->size, LLMC_HEADER);
    if (header_word(s, 1) != version)
        return err_input(
            e, "%s: version %d of the format is not supported, only %d",
            s->path, header_word(s, 1), version);
    s->format = SHARD_LLMC;
    s->width = wide ? 4 : 2;
    s->n = header_word(s, 2);
    if (s->n < 0)
        return err_input(e, "%s: the header has %d tokens", s->path,
                         header_word(s, 2));
    want = LLMC_HEADER + (size_t)s->n * (size_t)s->width;
    if (s->size != want)
        return err_input(e,
                         "%s: the file has %zu bytes, but the %lld tokens in "
                         "its header take %zu; is it incomplete?",
                         s->path, s->size, (long long)s->n, want);
    s->ids = (const char *)s->map + LLMC_HEADER;
    return 0;
}

/* The value of a key in a NumPy header, which is a Python dict, or NULL. */
static const char *npy_value(const char *dict, const char *key)
{
    const char *at = strstr(dict, key);

    if (at)
        at += strlen(key) + strspn(at + strlen(key), " ");
    return at && *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

static int npy_fields(struct shard *s, const char *dict, struct err *e)
{
    static const struct {
        const char *descr;
        int width;
    } types[] = { { "'<u2'", 2 }, { "'<u4'", 4 }, { "'<i4'", 4 } };
    const char *descr = npy_value(dict, "'descr'");
    const char *shape = npy_value(dict, "'shape'");
    int end = 0;

    if (!descr || !shape)
        return err_input(e, "%s: the NumPy header has no %s", s->path,
                         descr ? "shape" : "descr");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strncmp(descr, types[i].descr, strlen(types[i].descr)) == 0)
            s->width = types[i].width;
    if (!s->width)
        return err_set(
            e, ERR_INPUT,
            "%s: type %.*s is not supported; ids are '<u2', '<u4' or "
            "'<i4'",
            s->path, (int)strcspn(descr, ",}"), descr);
    /* "(1000,)" or "(1000, )" */
    if (sscanf(shape, "(%19" SCNd64 ",%n", &s->n, &end) < 1 || s->n < 0 ||
        end == 0 || shape[end + (int)strspn(shape + end, " ")] != ')')
        return err_set(
            e, ERR_INPUT,
            "%s: shape %.*s is not supported; ids have one dimension", s->path,
            (int)strcspn(shape, ")") + 1, shape);
    return 0;
}

static int read_npy(struct shard *s, struct err *e)
{
    const unsigned char *m = s->map;
    const size_t fixed = 10;
    size_t len, bytes;
    AUTO_FREE char *dict = NULL;

    if (s->size < 12)
        return err_input(e, "%s: the NumPy header is incomplete", s->path);
    if (m[6] != 1)
        return err_input(e, "%s: NumPy format %d.%d is not supported", s->path,
                         m[6], m[7]);
    len = (size_t)m[8] | (size_t)m[9] << 8;
    if (len > s->size - fixed)
        return err_input(e, "%s: the NumPy header is incomplete", s->path);
    dict = xstrndup((const char *)m + fixed, len);
    s->format = SHARD_NPY;
    if (npy_fields(s, dict, e) < 0)
        return -1;
    bytes = s->size - fixed - len;
    if ((uint64_t)s->n > SIZE_MAX / 4 ||
        bytes != (size_t)s->n * (size_t)s->width)
        return err_set(
            e, ERR_INPUT,
            "%s: the file has %zu bytes for %lld tokens of %d bytes; "
            "is it incomplete?",
            s->path, bytes, (long long)s->n, s->width);
    s->ids = m + fixed + len;
    if ((uintptr_t)s->ids % (uintptr_t)s->width)
        return err_input(e, "%s: the data is not aligned", s->path);
    return 0;
}

static int read_raw(struct shard *s, int width, struct err *e)
{
    if (corpus_files_format(s->path) != CORPUS_AUTO)
        return err_input(
            e, "%s: this is the name of a text file, not of a shard", s->path);
    s->format = SHARD_RAW;
    s->width = width ? width : 2;
    if (s->size % (size_t)s->width)
        return err_input(e,
                         "%s: %zu bytes are not a multiple of %d, the size of "
                         "an id; is this a shard?",
                         s->path, s->size, s->width);
    s->n = (int64_t)(s->size / (size_t)s->width);
    s->ids = s->map;
    return 0;
}

static int read_header(struct shard *s, void *width, struct err *e)
{
    const int32_t magic = s->size >= 4 ? header_word(s, 0) : 0;
    const char *other = NULL;

    if (s->size > NPY_MAGIC && memcmp(s->map, npy_magic, NPY_MAGIC) == 0)
        return read_npy(s, e);
    if (magic == LLMC_MAGIC || magic == LLAMA_MAGIC)
        return read_llmc(s, e);
    if (s->size > LOCK_MAGIC && memcmp(s->map, "# data.lock", LOCK_MAGIC) == 0)
        other = "a lock";
    if (magic == EVAL_MAGIC)
        other = "an evaluation file of llm.c";
    if (magic == TOKENIZER_MAGIC)
        other = "a tokenizer of llm.c";
    if (other)
        return err_input(e, "%s: this is %s, not a shard", s->path, other);
    return read_raw(s, *(int *)width, e);
}

/* Where a thread goes on that reads a page which is not there. */
static _Thread_local sigjmp_buf *volatile way_out;

static void lost_page(int sig)
{
    if (way_out)
        siglongjmp(*way_out, 1);
    signal(sig, SIG_DFL); /* not ours: the next try ends the program */
}

static void catch_lost_pages(void)
{
    struct sigaction s = { .sa_handler = lost_page, .sa_flags = SA_NODEFER };

    sigaction(SIGBUS, &s, NULL);
}

int shard_check(const struct shard *s, struct err *e)
{
    struct stat now;

    if (stat(s->path, &now) < 0 || now.st_dev != s->was.st_dev ||
        now.st_ino != s->was.st_ino ||
        (now.st_size == s->was.st_size &&
         now.st_mtim.tv_sec == s->was.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == s->was.st_mtim.tv_nsec))
        return 0;
    return err_input(e,
                     "%s was changed while it was in use: it had %zu bytes and "
                     "now has %lld; restore it, and resume from a checkpoint",
                     s->path, s->size, (long long)now.st_size);
}

/* Call a function that reads the map. */
typedef int read_fn(struct shard *, void *arg, struct err *);

static int read_map(struct shard *s, read_fn *fn, void *arg, struct err *e)
{
    sigjmp_buf here;
    int ret;

    if (sigsetjmp(here, 0) == 0) {
        way_out = &here;
        ret = fn(s, arg, e);
        way_out = NULL;
        return ret;
    }
    way_out = NULL;
    if (shard_check(s, e) < 0)
        return -1;
    errno = EIO;
    return err_sys(e, "cannot read %s", s->path);
}

int shard_open(struct shard *s, const char *path, int width, struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int ret;

    pthread_once(&once, catch_lost_pages);
    *s = (struct shard){ .path = xstrdup(path) };
    ret = path_map(&s->map, &s->was, path_open(path, PATH_FOLLOW_LINKS, e),
                   path, e);
    s->size = ret == 0 ? (size_t)s->was.st_size : 0;
    if (ret == 0)
        ret = s->map ? read_map(s, read_header, &width, e)
                     : err_input(e, "%s: the file is empty", path);
    if (ret < 0)
        shard_close(s);
    return ret;
}

void shard_close(struct shard *s)
{
    if (s->map)
        munmap(s->map, s->size);
    free(s->path);
    *s = (struct shard){ 0 };
}

struct ids_copy {
    int64_t i, n;
    int32_t *out;
    uint32_t max;
};

static int copy_ids(struct shard *s, void *arg, struct err *e UNUSED)
{
    struct ids_copy *c = arg;
    const uint16_t *narrow = (const uint16_t *)s->ids + c->i;
    const uint32_t *wide = (const uint32_t *)s->ids + c->i;
    const uint32_t keep = s->marked ? UINT32_MAX : INT32_MAX;
    uint32_t max = 0;

    for (int64_t k = 0; s->width == 2 && k < c->n; k++) {
        max = narrow[k] > max ? narrow[k] : max;
        c->out[k] = narrow[k];
    }
    for (int64_t k = 0; s->width == 4 && k < c->n; k++) {
        const uint32_t id = wide[k] & INT32_MAX;

        max = id > max ? id : max;
        c->out[k] = (int32_t)(wide[k] & keep);
    }
    c->max = max;
    return 0;
}

int shard_copy(const struct shard *s, int64_t i, int64_t n, int32_t *out,
               uint32_t *max, struct err *e)
{
    struct ids_copy c = { i, n, out, 0 };
    struct shard same = *s;
    const int ret = read_map(&same, copy_ids, &c, e);

    if (max)
        *max = c.max;
    return ret;
}

void shard_touch(const struct shard *s, int64_t i, int64_t n)
{
    const volatile char *from = (const char *)s->ids + i * s->width;
    sigjmp_buf here;

    if (sigsetjmp(here, 0) == 0) {
        way_out = &here;
        for (int64_t b = 0; b < n * s->width; b += PAGE)
            (void)from[b];
        (void)from[n * s->width - 1];
    }
    way_out = NULL;
}

static int add_sample(struct shard *s, void *arg, struct err *e UNUSED)
{
    enum { ALL = 1 << 20, BLOCKS = 64, BLOCK = 4096 };
    const uint64_t size = s->size;
    const char *map = s->map;
    struct sha256 *h = arg;

    sha256_add(h, &size, sizeof size);
    if (size <= ALL)
        sha256_add(h, map, size);
    for (uint64_t i = 0; size > ALL && i < BLOCKS; i++)
        sha256_add(h, map + (size - BLOCK) / (BLOCKS - 1) * i, BLOCK);
    return 0;
}

int shard_sample(const struct shard *s, struct sha256 *h, struct err *e)
{
    struct shard same = *s;

    return read_map(&same, add_sample, h, e);
}

void shard_npy_header(FILE *fp, const char *type, const char *shape)
{
    char npy[NPY_HEADER + 1];
    const int len = snprintf(npy, sizeof npy,
                             "%s\x01%c%c%c{'descr': '%s', 'fortran_order': "
                             "False, 'shape': (%s), }",
                             npy_magic, 0, NPY_HEADER - 10, 0, type, shape);

    memset(npy + len, ' ', (size_t)(NPY_HEADER - len));
    npy[NPY_HEADER - 1] = '\n';
    fwrite(npy, NPY_HEADER, 1, fp);
}

static void write_header(const struct shard_out *out, FILE *fp)
{
    int32_t llmc[256] = {
        out->width == 2 ? LLMC_MAGIC : LLAMA_MAGIC,
        out->width == 2 ? LLMC_VERSION : LLAMA_VERSION,
        (int32_t)out->n,
    };
    char shape[32];

    switch (out->format) {
    case SHARD_LLMC:
        fwrite(llmc, sizeof llmc, 1, fp);
        break;
    case SHARD_NPY:
        snprintf(shape, sizeof shape, "%lld,", (long long)out->n);
        shard_npy_header(fp, out->width == 2 ? "<u2" : "<u4", shape);
        break;
    case SHARD_RAW:
        break;
    }
}

static off_t header_size(enum shard_format format)
{
    return format == SHARD_LLMC  ? 256 * (off_t)sizeof(int32_t)
           : format == SHARD_NPY ? NPY_HEADER
                                 : 0;
}

/* Truncate the file to its first n ids, or to nothing, and seek to its end. */
static int truncate_ids(struct shard_out *out, int64_t n, struct err *e)
{
    const off_t size = n > 0 ? header_size(out->format) + n * out->width : 0;
    const int fd = fileno(out->save.fp);
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "cannot read %s", out->save.temp);
    if (st.st_size < size)
        return err_input(e, "%s: the file is shorter than before",
                         out->save.temp);
    if (ftruncate(fd, size) < 0 || fseeko(out->save.fp, size, SEEK_SET) < 0)
        return err_sys(e, "cannot write %s", out->save.temp);
    out->n = n;
    return 0;
}

int shard_begin(struct shard_out *out, const char *path, enum shard_format f,
                int width, int64_t n, struct err *e)
{
    int fd;

    *out = (struct shard_out){ 0 };
    out->save.path = xstrdup(path);
    out->save.temp = xasprintf("%s.part", path);
    out->format = f;
    out->width = width;
    /* it may have got its final name just before a crash */
    if (n > 0 && access(out->save.temp, F_OK) < 0)
        rename(path, out->save.temp);
    fd = filelock_open(out->save.temp, 0666, e);
    out->save.fp = fd >= 0 ? fdopen(fd, "r+") : NULL;
    if (!out->save.fp || truncate_ids(out, n, e) < 0) {
        shard_keep(out);
        return -1;
    }
    if (n == 0)
        write_header(out, out->save.fp);
    return 0;
}

int shard_sync(struct shard_out *out, struct sha256 *hash, struct err *e)
{
    const off_t at = header_size(out->format) + (off_t)hash->total;
    FILE *fp = out->save.fp;
    char chunk[65536];
    size_t n;

    if (fflush(fp) != 0 || ferror(fp) || fdatasync(fileno(fp)) < 0)
        return err_sys(e, "cannot write %s", out->save.temp);
    if (fseeko(fp, at, SEEK_SET) < 0)
        return err_sys(e, "cannot read %s", out->save.temp);
    while ((n = fread(chunk, 1, sizeof chunk, fp)) > 0)
        sha256_add(hash, chunk, n);
    return ferror(fp) || fseeko(fp, 0, SEEK_END) < 0
               ? err_sys(e, "cannot read %s", out->save.temp)
               : 0;
}

void shard_keep(struct shard_out *out)
{
    if (out->save.fp)
        fclose(out->save.fp);
    FREE(out->save.path, out->save.temp);
    *out = (struct shard_out){ 0 };
}

void shard_add(struct shard_out *out, const void *ids, size_t n)
{
    fwrite(ids, (size_t)out->width, n, out->save.fp);
    out->n += (int64_t)n;
}

int shard_commit(struct shard_out *out, struct err *e)
{
    if (out->format == SHARD_LLMC && out->n > INT32_MAX) {
        err_input(e,
                  "%s: %lld tokens are too many for llm.c's format, which has "
                  "at most 2^31 - 1",
                  out->save.path, (long long)out->n);
        save_abandon(&out->save);
        return -1;
    }
    if (fseeko(out->save.fp, 0, SEEK_SET) == 0)
        write_header(out, out->save.fp);
    return save_commit(&out->save, e);
}
