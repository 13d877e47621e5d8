/*
 * device - what the CUDA device does beside its operations, emulated
 *
 * Memory and its counters, copies of every size, failures by name, marks,
 * graphs, and the file of plans for products.
 */
#include "config.h"
#include "common/mem.h"
#include "common/path.h"
#include "kernels/cuda/algorithms.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/gemm.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tensor view(void *p, int64_t n)
{
    return (
        struct tensor){ .data = p, .type = DT_F32, .rank = 1, .dim = { n } };
}

static void put_ones(struct dev *dev, const struct tensor *t)
{
    struct tensor host = *t;

    host.data = xmalloc(tensor_bytes(t));
    for (int64_t i = 0; i < tensor_count(t); i++)
        ref_set(&host, i, 1);
    dev->type->put(dev, t->data, host.data, tensor_bytes(t));
    free(host.data);
}

static void check_memory(struct dev *dev)
{
    const struct dev_memory before = dev->memory;
    const struct dev_memory *m = &dev->memory;
    struct err e = { 0 };
    char *a = dev_alloc(dev, 1000, DEV_WEIGHTS, &e);
    char *b = dev_alloc(dev, 3000, DEV_INPUTS, &e);

    ok(a && b && m->allocated == before.allocated + 4000 &&
           m->peak == m->allocated && m->reserved == before.reserved + 4000,
       "%s: what is allocated is counted", dev->type->name);
    ok(m->of[DEV_WEIGHTS].now == 1000 && m->of[DEV_INPUTS].now == 3000,
       "memory is counted by its purpose");
    dev_free(dev, b);
    ok(m->allocated == before.allocated + 1000 &&
           m->peak == before.allocated + 4000 && m->of[DEV_INPUTS].now == 0 &&
           m->of[DEV_INPUTS].most == 3000,
       "freed memory is not counted and the peak stays");
    dev_free(dev, a);
    if (!m->total)
        return;
    ok(!dev_alloc(dev, (size_t)1 << 40, DEV_GRADS, &e) &&
           strstr(e.text, "1024.00 GiB") && m->of[DEV_GRADS].most == 0,
       "an allocation that is too large is refused and not counted");
}

/* What a device takes for itself is counted too. */
static void check_scratch(struct dev *dev)
{
    enum { N = 4096 };
    const size_t before = dev->memory.of[DEV_SCRATCH].now;
    const size_t allocated = dev->memory.allocated;
    struct err e = { 0 };
    float *p = dev_alloc(dev, (4 * N + 2) * sizeof *p, DEV_WEIGHTS, &e);
    struct tensor x = view(p, N), dy = view(p + N, N), dx = view(p + 2 * N, N);
    struct tensor w = view(p + 3 * N, N), stat = view(p + 4 * N, 2), dw = dx;

    dev->type->zero(dev, p, (4 * N + 2) * sizeof *p);
    dev->ops->norm_bwd(dev, NULL, &dw, NULL, &x, &w, &stat, &dy, NORM_LAYER);
    ok(dev_sync(dev, &e) == 0 && dev->memory.of[DEV_SCRATCH].now > before &&
           dev->memory.allocated == allocated + (4 * N + 2) * sizeof *p,
       "%s: the scratch memory of an operation is counted apart",
       dev->type->name);
    dev_free(dev, p);
}

static void check_copies(struct dev *dev)
{
    enum { MOST = 10 << 20 };
    static const size_t sizes[] = { 1, 4097, 1 << 20, (1 << 20) + 1, MOST };
    struct err e = { 0 };
    unsigned char *in = xmalloc(MOST), *out = xmalloc(MOST);
    char *p = dev->type->alloc(dev, MOST, &e),
         *q = dev->type->alloc(dev, MOST, &e);
    bool good = true, early = true;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];

        for (size_t k = 0; k < n; k++)
            in[k] = (unsigned char)(k * 7 + i);
        memset(out, 0, n);
        dev->type->put(dev, p, in, n);
        in[0] ^= 0xff; /* put() has read it */
        dev->type->copy(dev, q, p, n);
        dev->type->get(dev, out, q, n);
        good = dev_sync(dev, &e) == 0 && good;
        in[0] ^= 0xff;
        good = memcmp(in, out, n) == 0 && good;
    }
    ok(good, "few and many bytes go to the device and come back");
    for (int i = 0; i < 1000; i++) { /* more than are kept between syncs */
        dev->type->put(dev, p + 4 * i, &i, 4);
        dev->type->get(dev, out + 4 * i, p + 4 * i, 4);
    }
    good = dev_sync(dev, &e) == 0;
    for (int i = 0; i < 1000; i++)
        early = early && memcmp(out + 4 * i, &i, 4) == 0;
    ok(good && early, "a thousand small copies come back");
    dev->type->zero(dev, p, 100);
    dev->type->get(dev, out, p, 101);
    ok(dev_sync(dev, &e) == 0 && out[0] == 0 && out[99] == 0 && out[100] == 25,
       "zero() clears its bytes and no more");
    dev->type->free(dev, p);
    dev->type->free(dev, q);
    free(in);
    free(out);
}

static void check_failures(struct dev *dev)
{
    struct err e = { 0 };
    float host[4] = { 0 };
    void *p = dev->type->alloc(dev, 16, &e);

    dev->type->copy(dev, host, p, 16);
    cuda_failed(dev, "second", "not this");
    ok(dev_sync(dev, &e) < 0 && strstr(e.text, "copy: invalid argument"),
       "the first failure is reported with the name of the call");
    ok(dev_sync(dev, &e) == 0, "a failure is reported once");
    dev->type->free(dev, p);
}

static void check_marks(struct dev *dev)
{
    struct err e = { 0 };

    ok(dev->type->between(dev, 0, 1) < 0, "an unset mark has no time");
    dev->type->mark(dev, 0);
    dev->type->mark(dev, 1);
    ok(dev_sync(dev, &e) == 0 && dev->type->between(dev, 0, 1) >= 0,
       "the time between two marks is known after dev_sync()");
}

static void check_graph(struct dev *dev)
{
    struct err e = { 0 };
    float host[2] = { 1, 2 };
    char *p = dev->type->alloc(dev, 64, &e);
    struct tensor t = view(p, 2);
    struct dev_capture *g;
    size_t reserved;

    dev->type->put(dev, p, host, sizeof host);
    cuda_scratch(dev, 1, "test");
    ok(dev->type->capture_begin(dev, &e) == 0, "a recording begins");
    dev->ops->add_fwd(dev, &t, &t, &t);
    dev->ops->add_fwd(dev, &t, &t, &t);
    g = dev->type->capture_end(dev, &e);
    dev->type->get(dev, host, p, sizeof host);
    ok(dev_sync(dev, &e) == 0 && host[0] == 1 && host[1] == 2,
       "work recorded in a graph is not done at once");
    dev->type->capture_run(dev, g);
    dev->type->capture_run(dev, g);
    dev->type->get(dev, host, p, sizeof host);
    ok(dev_sync(dev, &e) == 0 && host[0] == 16 && host[1] == 32,
       "work recorded in a graph is done each time it runs");
    reserved = dev->memory.reserved;
    cuda_scratch(dev, (size_t)32 << 20, "test");
    ok(dev_sync(dev, &e) == 0 &&
           dev->memory.reserved == reserved + ((size_t)32 << 20),
       "scratch memory that a graph may use stays where it is");
    dev->type->capture_free(dev, g);
    reserved = dev->memory.reserved;
    dev->type->capture_begin(dev, &e);
    cuda_scratch(dev, (size_t)64 << 20, "test");
    g = dev->type->capture_end(dev, &e);
    ok(!g && strstr(e.text, "cannot grow") && dev_sync(dev, &e) == 0 &&
           dev->memory.reserved == reserved,
       "work that needs more scratch memory is not recorded");
    dev->type->free(dev, p);
}

/* ---- plans ------------------------------------------------------------- */

static void check_algorithms(const char *folder)
{
    const struct algorithms_key key = { .m = 7, .n = 9, .align_d = 256 };
    struct algorithms_key other = key;
    const struct cublaslt_algo algo = { { 1, 2, UINT64_MAX } };
    struct cublaslt_algo got;
    struct algorithms f;
    FILE *fp;

    setenv("XDG_CACHE_HOME", folder, 1);
    algorithms_open(&f, "A GPU/2", 42);
    ok(!algorithms_find(&f, &key, &got), "no algorithm is stored at first");
    algorithms_add(&f, &key, &algo);
    algorithms_close(&f);
    algorithms_open(&f, "A GPU/2", 42);
    other.align_d = 128;
    ok(algorithms_find(&f, &key, &got) &&
           memcmp(&got, &algo, sizeof got) == 0 &&
           !algorithms_find(&f, &other, &got),
       "a stored algorithm is found only for its product");
    fp = f.path ? fopen(f.path, "a") : NULL;
    if (fp) {
        fputs("1 2 3 not a plan\n\n", fp);
        fclose(fp);
    }
    algorithms_close(&f);
    algorithms_open(&f, "A GPU/2", 42);
    ok(fp && f.n == 1 && algorithms_find(&f, &key, &got),
       "a damaged line of stored algorithms is skipped");
    algorithms_close(&f);
    algorithms_open(&f, "A GPU/2", 43);
    ok(f.n == 0, "another version of the library has its own algorithms");
    algorithms_close(&f);
    setenv("XDG_CACHE_HOME", "/dev/null/x", 1);
    algorithms_open(&f, "A GPU/2", 42);
    algorithms_add(&f, &key, &algo);
    ok(algorithms_find(&f, &key, &got),
       "without a file algorithms are kept in memory");
    algorithms_close(&f);
    setenv("XDG_CACHE_HOME", folder, 1);
}

/* A product of 64 x 64 ones: what is chosen by time is kept in a file. */
static void check_gemm(struct dev *dev, const char *folder)
{
    enum { N = 64 };
    struct err e = { 0 };
    struct path_list files = { 0 };
    char *cache = path_join(folder, "gtrain"), text[256];
    float *p = dev->type->alloc(dev, 3 * N * N * sizeof *p, &e), one = 0;
    struct tensor t = view(p, 2 * N * N);
    struct gemm m = { .type = DT_F32,
                      .out = DT_F32,
                      .m = N,
                      .n = N,
                      .k = N,
                      .a = p,
                      .b = p + N * N,
                      .d = p + 2 * N * N,
                      .lda = N,
                      .ldb = N,
                      .ldd = N,
                      .alpha = 0.5f };
    bool kept = false;

    put_ones(dev, &t);
    ok(gemm(dev, &m, "test"), "cuBLASLt multiplies two matrices");
    dev->type->get(dev, &one, p + 3 * N * N - 1, sizeof one);
    ok(dev_sync(dev, &e) == 0 && one == 32, "the product of cuBLASLt is right");
    if (path_list(&files, cache, &e) == 0)
        for (size_t i = 0; i < files.n; i++)
            kept = kept || strstr(files.name[i], "emulated");
    ok(kept, "the fastest algorithm is stored in a file");
    ok(strstr(dev->type->describe(dev, text, sizeof text), "emulated GPU"),
       "the device describes itself");
    diag("%s", text);
    path_list_clear(&files);
    free(cache);
    dev->type->free(dev, p);
}

/* One element of the product of N x K and K x N ones in bf16, on a device that
 * is opened with this value of a variable of the environment. */
static float product_of_ones(const char *name, const char *value,
                             const char *folder, bool deterministic,
                             struct err *e)
{
    enum { N = 32, K = 2304 };
    struct dev dev = { .deterministic = deterministic };
    uint16_t *p, one = 0;
    struct tensor t;
    struct gemm m = { .type = DT_BF16,
                      .out = DT_BF16,
                      .m = N,
                      .n = N,
                      .k = K,
                      .lda = K,
                      .ldb = N,
                      .ldd = N,
                      .alpha = 1.0f };

    *e = (struct err){ 0 };
    setenv(name, value, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    if (dev_open(&dev, "cuda", e) < 0)
        return -1;
    p = dev.type->alloc(&dev, (2 * N * K + N * N) * sizeof *p, e);
    t = view(p, 2 * N * K);
    t.type = DT_BF16;
    put_ones(&dev, &t);
    m.a = p;
    m.b = p + N * K;
    m.d = p + 2 * N * K;
    gemm(&dev, &m, "test");
    dev.type->get(&dev, &one, m.d, sizeof one);
    dev_sync(&dev, e);
    dev.type->free(&dev, p);
    dev_close(&dev);
    unsetenv(name);
    return float_from_bf16(one);
}

/* Nothing is kept in /dev/null, so that algorithms are tried each time. */
static void check_wrong_algorithms(void)
{
    struct err e;

    ok(product_of_ones("GT_EMU_LT", "wrong", "/dev/null", false, &e) == 2304,
       "an algorithm that stores nothing is not chosen, though it is fast");
    ok(product_of_ones("GT_EMU_LT", "narrow", "/dev/null", false, &e) == 2304,
       "parts of a sum in bf16 are added in F32");
    ok(product_of_ones("GT_EMU_LT", "narrow", "/dev/null", true, &e) == 2304,
       "a deterministic device, which may divide sums, adds parts in F32");
    ok(product_of_ones("GT_CUBLASLT", "off", "/dev/null", false, &e) == 2304,
       "products without cuBLASLt are right if it is switched off");
    ok(product_of_ones("GT_EMU_LT", "older", "/dev/null", false, &e) == 2304,
       "the older cuBLASLt is used if the newer one cannot be initialized");
    product_of_ones("GT_EMU_LT", "none", "/dev/null", false, &e);
    ok(strstr(e.text, "products would be very slow"),
       "products in bf16 are refused if cuBLASLt is not found");
    diag("%s", e.text);
}

int main(void)
{
    char folder[] = "/tmp/gt-device-XXXXXX";
    struct err e = { 0 };
    struct dev dev = { .threads = 0 };

    if (!mkdtemp(folder))
        return 1;
    check_algorithms(folder);
    if (ok(dev_open(&dev, "cuda", &e) == 0, "the CUDA device opens")) {
        check_memory(&dev);
        check_scratch(&dev);
        check_copies(&dev);
        check_failures(&dev);
        check_marks(&dev);
        check_graph(&dev);
        check_gemm(&dev, folder);
        dev_close(&dev);
    }
    if (ok(dev_open(&dev, "cpu", &e) == 0, "the CPU device opens")) {
        check_memory(&dev);
        check_scratch(&dev);
        dev_close(&dev);
    }
    ok(dev_open(&dev, "cuda:7", &e) < 0 && strstr(e.text, "there is 1"),
       "opening an eighth device fails");
    setenv("GT_EMU_BUSY", "0", 1);
    ok(dev_open(&dev, "auto", &e) < 0 &&
           strstr(e.text, "choose the device cpu"),
       "the CPU does not silently replace a GPU that cannot be used");
    unsetenv("GT_EMU_BUSY");
    check_wrong_algorithms();
    path_remove(folder, &e);
    return done_testing();
}
