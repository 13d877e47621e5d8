/*
 * shard - token files of three formats, and what must be refused
 */
#include "config.h"
#include "data/shards/shard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "t/lib/tap.h"

static char folder[] = "/tmp/shard.XXXXXX";

static char *in_folder(const char *name)
{
    return path_join(folder, name);
}

static bool write_ids(const char *path, enum shard_format f, int width,
                      const void *ids, size_t n)
{
    struct shard_out out = { 0 };
    struct err e = { 0 };

    if (shard_begin(&out, path, f, width, 0, &e) < 0)
        return false;
    shard_add(&out, ids, n / 2);
    shard_add(&out, (const char *)ids + n / 2 * (size_t)width, n - n / 2);
    return shard_commit(&out, &e) == 0;
}

static void round_trips(void)
{
    static const uint16_t narrow[] = { 50256, 0, 1, 65535, 7, 8, 9 };
    static const uint32_t wide[] = { 128000, 0, 1, 65536, 7, 8, 0x7fffffff };
    static const size_t head[] = { 1024, 0, 128 };

    for (int f = 0; f < 3; f++)
        for (int width = 2; width <= 4; width += 2) {
            const char *name = shard_formats[f];
            char *path = in_folder("x.bin");
            struct err e = { 0 };
            struct shard s;
            int32_t out[7];
            uint32_t most = 0;

            ok(write_ids(path, (enum shard_format)f, width,
                         width == 2 ? (const void *)narrow : wide, 7),
               "%s with ids of %d bytes is written", name, width);
            if (!ok(shard_open(&s, path, width, &e) == 0,
                    "%s with ids of %d bytes is opened", name, width))
                diag("%s", e.text);
            ok(s.n == 7 && s.width == width && (int)s.format == f,
               "%s with ids of %d bytes has its count, width and format", name,
               width);
            ok(s.size == head[f] + 7 * (size_t)width,
               "%s with ids of %d bytes has its size", name, width);
            ok(shard_copy(&s, 0, 7, out, &most, &e) == 0 &&
                   most == (width == 2 ? 65535 : 0x7fffffff),
               "the largest id of %s with %d bytes is returned", name, width);
            ok(out[0] == (width == 2 ? 50256 : 128000) &&
                   out[3] == (width == 2 ? 65535 : 65536) && out[4] == 7,
               "the ids of %s with %d bytes are copied", name, width);
            shard_close(&s);
            free(path);
        }
}

/* Files that other programs wrote, made small. */
static void references(void)
{
    static const struct {
        const char *name;
        enum shard_format format;
        int width;
    } files[] = {
        { "llmc_shard_first1000.bin", SHARD_LLMC, 2 },
        { "llmc_llama3_shard_first1000.bin", SHARD_LLMC, 4 },
        { "build_nanogpt_first1000.npy", SHARD_NPY, 2 },
    };
    const char *data = getenv("GT_TESTDATA"), *top = getenv("top_srcdir");
    char *own = xasprintf("%s/../shared/data", top ? top : "..");

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path =
            xasprintf("%s/formats/%s", data ? data : own, files[i].name);
        struct buf ours = BUF_INIT, theirs = BUF_INIT;
        struct shard s = { 0 };
        struct err e = { 0 };
        char *copy = in_folder("copy");
        uint32_t most;
        int32_t first;

        if (!path_exists(path)) {
            skip("no test data", "%s is read", files[i].name);
        } else {
            ok(shard_open(&s, path, 0, &e) == 0 && s.n == 1000 &&
                   s.format == files[i].format && s.width == files[i].width,
               "%s is read", files[i].name);
            ok(shard_copy(&s, 0, 1, &first, &most, &e) == 0 && first == 50256,
               "%s begins with end-of-text", files[i].name);
            ok(write_ids(copy, s.format, s.width, s.ids, 1000) &&
                   buf_read_file(&ours, copy, 1 << 20, &e) == 0 &&
                   buf_read_file(&theirs, path, 1 << 20, &e) == 0 &&
                   ours.len == theirs.len &&
                   memcmp(ours.s, theirs.s, ours.len) == 0,
               "%s is the same when it is written again", files[i].name);
            shard_close(&s);
        }
        buf_clear(&ours);
        buf_clear(&theirs);
        free(copy);
        free(path);
    }
    free(own);
}

static void put(const char *path, const void *data, size_t n)
{
    struct save s = { 0 };
    struct err e = { 0 };

    if (save_open(&s, path, &e) == 0) {
        fwrite(data, 1, n, s.fp);
        save_commit(&s, &e);
    }
}

static void refused(const char *what, const void *data, size_t n,
                    const char *says)
{
    char *path = in_folder("bad");
    struct err e = { 0 };
    struct shard s;

    put(path, data, n);
    if (!ok(shard_open(&s, path, 0, &e) < 0 && strstr(e.text, says) &&
                strstr(e.text, path),
            "a shard is refused: %s", what))
        diag("said: %s", e.text);
    free(path);
}

static void damage(void)
{
    int32_t llmc[256 + 3] = { 20240520, 1, 4 };
    char npy[136];
    struct err e = { 0 };
    struct shard s;

    refused("an empty file", "", 0, "empty");
    refused("three bytes", "abc", 3, "not a multiple of 2");
    refused("a header alone", llmc, 1000, "the header has 1024");
    refused("fewer tokens than promised", llmc, 1024 + 6, "incomplete");
    refused("more tokens than promised", llmc, sizeof llmc, "incomplete");
    llmc[2] = -1;
    refused("a negative count", llmc, sizeof llmc, "-1 tokens");
    llmc[2] = INT32_MAX;
    refused("a huge count", llmc, sizeof llmc, "incomplete");
    llmc[1] = 2;
    refused("another version", llmc, sizeof llmc, "version 2");
    llmc[0] = 20240522;
    refused("an evaluation file", llmc, sizeof llmc, "evaluation");

#define NPY(text)                                                              \
    (memset(npy, ' ', sizeof npy),                                             \
     memcpy(npy, "\x93NUMPY\x01\x00\x76\x00" text, 10 + sizeof text - 1), npy)
    refused("npy: floats",
            NPY("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"),
            136, "type '<f4'");
    refused("npy: two dimensions",
            NPY("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2), }"),
            136, "one dimension");
    refused("npy: cut short",
            NPY("{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }"),
            136, "incomplete");
    refused("npy: a count beyond all",
            NPY("{'descr': '<u2', 'fortran_order': False, "
                "'shape': (99999999999999999999,), }"),
            136, "one dimension");
    refused("npy: a count that wraps around",
            NPY("{'descr': '<u2', 'fortran_order': False, "
                "'shape': (9223372036854775807,), }"),
            136, "incomplete");
    refused("npy: no shape", NPY("{'descr': '<u2'}"), 136, "no shape");
    refused("npy: a header longer than the file",
            "\x93NUMPY\x01\x00\xff\xff{}  ", 14, "incomplete");
    refused("npy: another version", "\x93NUMPY\x09\x00\x02\x00{}  ", 14, "9.0");
    ok(shard_open(&s, "/nonexistent", 0, &e) < 0 && e.kind == ERR_MISSING,
       "a missing shard is ERR_MISSING");
    ok(shard_open(&s, folder, 0, &e) < 0, "a folder is refused as a shard");
}

/* A page beyond the end of a file that was cut is an error, not a signal. */
static void cut_while_open(void)
{
    enum { N = 40000 };
    char *path = in_folder("cut.bin");
    uint16_t *ids = xcalloc(N, sizeof *ids);
    int32_t *out = xcalloc(N, sizeof *out);
    struct err e = { 0 };
    uint32_t most = 0;
    struct shard s;

    ok(write_ids(path, SHARD_RAW, 2, ids, N) &&
           shard_open(&s, path, 2, &e) == 0 && shard_check(&s, &e) == 0,
       "a shard that nobody changed is as it was");
    ok(truncate(path, 5000) == 0 && shard_check(&s, &e) < 0,
       "a shard that was cut is noticed");
    e = (struct err){ 0 };
    shard_touch(&s, 0, N);
    ok(shard_copy(&s, 0, 100, out, &most, &e) == 0 &&
           shard_copy(&s, 0, N, out, &most, &e) < 0 && strstr(e.text, path),
       "the ids that a shard has lost cannot be copied, and it is named");
    shard_close(&s);
    free(ids);
    free(out);
    free(path);
}

int main(void)
{
    struct err e = { 0 };

    if (!mkdtemp(folder))
        return 1;
    round_trips();
    references();
    damage();
    cut_while_open();
    ok(shard_width(65536) == 2 && shard_width(65537) == 4,
       "ids up to 65535 have two bytes");
    path_remove(folder, &e);
    return done_testing();
}
