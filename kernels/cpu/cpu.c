/*
 * cpu - the CPU as a device: which instructions, how many threads, memory
 */
#include "config.h"
#include "kernels/cpu/cpu.h"
#include "common/clock.h"
#include "common/machine/cores.h"
#include "common/mem.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)

#if defined(__x86_64__)
#define SUPPORTS(name) __builtin_cpu_supports(name)

static bool has_avx512(void)
{
    return SUPPORTS("avx512f") && SUPPORTS("avx512bw") &&
           SUPPORTS("avx512dq") && SUPPORTS("avx512vl") && SUPPORTS("avx512cd");
}

static bool has_avx512bf16(void)
{
#if defined(HAVE_AVX512BF16)
    return has_avx512() && SUPPORTS("avx512bf16");
#else
    return false;
#endif
}

static bool has_avx2(void)
{
    /* no processor has AVX2 and lacks F16C, which gcc 10 cannot ask for */
    return SUPPORTS("avx2") && SUPPORTS("fma");
}
#else
#define SUPPORTS(name) false
#endif

#if defined(HAVE_SVE)
/* Bits of the vectors of SVE, which this process keeps; or 0. */
static int sve_bits(void)
{
    const int length = prctl(PR_SVE_GET_VL);

    return length < 0 ? 0 : 8 * (length & PR_SVE_VL_LEN_MASK);
}

static bool has_sve512(void)
{
    return sve_bits() == 512;
}

static bool has_sve256(void)
{
    return sve_bits() == 256;
}
#endif

static bool has_always(void)
{
    return true;
}

/* What is compiled for this kind of processor, best first.  A set that
 * multiplies pairs is taken if a trial finds it faster than the next one. */
static const struct isa {
    const char *name;
    cpu_fill_table_fn *fill_table;
    bool (*present)(void);
    bool (*pairs_pay)(void);       /* NULL: it does not multiply pairs */
    cpu_fill_table_fn *if_no_vnni; /* what has the products of bytes then */
} isas[] = {
#if defined(__x86_64__)
    { "avx512bf16", cpu_fill_table_avx512, has_avx512bf16,
      gemm_pairs_pay_avx512, cpu_fill_table_avx2 },
    { "avx512", cpu_fill_table_avx512, has_avx512, NULL, cpu_fill_table_avx2 },
    { "avx2", cpu_fill_table_avx2, has_avx2, NULL, NULL },
#endif
#if defined(HAVE_SVE)
    { "sve512", cpu_fill_table_sve512, has_sve512, NULL, NULL },
    { "sve256", cpu_fill_table_sve256, has_sve256, NULL, NULL },
#endif
#if defined(__aarch64__)
    { "neon", cpu_fill_table_neon, has_always, NULL, NULL },
#endif
    { "c", cpu_fill_table_plain, has_always, NULL, NULL },
};

bool instructions_present(const char *name)
{
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if (strcmp(isas[i].name, name) == 0)
            return isas[i].present();
    return false;
}

static const struct isa *choose_isa(struct err *e)
{
    const char *want = getenv("GTRAIN_ISA");
    const bool named = want && *want;

    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        const struct isa *isa = &isas[i];

        if (named && strcmp(isa->name, want) != 0)
            continue;
        if (isa->present() && (named || !isa->pairs_pay || isa->pairs_pay()))
            return isa;
    }
    err_set(e, ERR_USAGE,
            "GTRAIN_ISA=%s: this CPU does not have it; the names are "
            "avx512bf16, avx512, avx2, sve512, sve256, neon and c",
            want);
    return NULL;
}

/* Bytes of a core's second cache, or a usual size if it is not known.  Speed
 * depends on it, but no result. */
static long second_cache(void)
{
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);

    return bytes > 0 ? bytes : 512L << 10;
}

static void fill_table(const struct isa *isa, struct ops *ops)
{
    struct ops other;

    isa->fill_table(ops);
    if (!isa->if_no_vnni || SUPPORTS("avx512vnni"))
        return;
    isa->if_no_vnni(&other);
    ops->linear_quantized_fwd = other.linear_quantized_fwd;
}

static int cpu_open(struct dev *dev, struct err *e)
{
    const struct isa *isa = choose_isa(e);
    struct cpu *cpu;

    if (!isa)
        return -1;
    cpu = xcalloc(1, sizeof *cpu);
    cpu->isa = isa->name;
    cpu->per_word = isa->pairs_pay ? 2 : 1;
    cpu->near = second_cache() / 8 * 5 / 4;
    dev->state = cpu;
    fill_table(isa, &cpu->ops);
    dev->ops = &cpu->ops;
    if (dev->threads <= 0)
        dev->threads = cores_of_rank(1, false);
    return 0;
}

static void cpu_close(struct dev *dev)
{
    struct cpu *cpu = dev->state;

    if (cpu)
        FREE(cpu->scratch, cpu->rope_table, cpu);
    dev->state = NULL;
}

/* Large blocks lie on large pages, if the system grants them. */
static void *cpu_alloc(struct dev *dev UNUSED, size_t n, struct err *e)
{
    const size_t align = n >= LARGE_PAGE ? LARGE_PAGE : 64;
    void *p = NULL;

    if (n <= SIZE_MAX - align)
        p = aligned_alloc(align, n ? (n + align - 1) / align * align : align);
    if (!p)
        err_sys(e, "cannot allocate %zu bytes", n);
    else if (n >= LARGE_PAGE)
        madvise(p, (n + align - 1) / align * align, MADV_HUGEPAGE);
    return p;
}

static void cpu_free(struct dev *dev UNUSED, void *p)
{
    free(p);
}

/* Copy, or clear if src is NULL; divided among threads as the operations are,
 * so that each thread is the first to touch its own part. */
static void cpu_copy(struct dev *dev, void *dst, const void *src, size_t n)
{
    const size_t piece = (size_t)1 << 18;
    const int64_t count = (int64_t)((n + piece - 1) / piece);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (count > 1)
    for (int64_t i = 0; i < count; i++) {
        const size_t from = (size_t)i * piece;
        const size_t size = n - from < piece ? n - from : piece;

        if (src)
            memcpy((char *)dst + from, (const char *)src + from, size);
        else
            memset((char *)dst + from, 0, size);
    }
}

static void cpu_zero(struct dev *dev, void *dst, size_t n)
{
    cpu_copy(dev, dst, NULL, n);
}

static int cpu_sync(struct dev *dev, struct err *e)
{
    if (!dev->failed)
        return 0;
    dev->failed = 0;
    return err_set(e, ERR_SYSTEM, "%s: out of memory", dev->failed_op);
}

/* Work is done when the call that gave it returns. */
static void cpu_mark(struct dev *dev, int i)
{
    struct cpu *cpu = dev->state;

    cpu->mark[i] = clock_mono();
}

static double cpu_between(struct dev *dev, int i, int j)
{
    const struct cpu *cpu = dev->state;

    return cpu->mark[i] > 0.0 && cpu->mark[j] > 0.0
               ? cpu->mark[j] - cpu->mark[i]
               : -1.0;
}

static char *cpu_describe(struct dev *dev, char *out, size_t room)
{
    const struct cpu *cpu = dev->state;
    char line[256], model[128] = "CPU", kinds[96];
    struct cores cores;
    FILE *fp = fopen("/proc/cpuinfo", "re");

    while (fp && fgets(line, sizeof line, fp)) {
        if (sscanf(line, "model name : %127[^\n]", model) == 1)
            break;
    }
    if (fp)
        fclose(fp);
    cores_read_own(&cores);
    cores_describe(&cores, kinds, sizeof kinds);
    snprintf(out, room, "%s%s, %d thread%s, %s", model, kinds, dev->threads,
             dev->threads == 1 ? "" : "s",
             dev->ops == &ref_ops ? "reference" : cpu->isa);
    return out;
}

/* Pairs of bf16 numbers change the bits of nothing else. */
static const char *cpu_instructions(const struct dev *dev, enum dtype type)
{
    const struct cpu *cpu = dev->state;

    return cpu->per_word > 1 && type != DT_BF16 ? "avx512" : cpu->isa;
}

int64_t cpu_take(struct cpu_share share[CPU_SHARES], int work, int64_t n,
                 int64_t groups)
{
    const int threads = omp_get_num_threads(), me = omp_get_thread_num();
    const int shares = threads < CPU_SHARES ? threads : CPU_SHARES;

    for (int k = 0; k < shares; k++) {
        const int s = (me + k) % shares;
        const int64_t from = n * s / shares, rows = n * (s + 1) / shares - from;
        int64_t *taken = &share[s].taken[work];
        int64_t i = __atomic_load_n(taken, __ATOMIC_RELAXED);

        if (i < rows * groups)
            i = __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED);
        if (i < rows * groups)
            return (from + i % rows) * groups + i / rows;
    }
    return -1;
}

static void mark_failed(struct dev *dev, const char *op)
{
    if (!dev->failed)
        dev->failed_op = op;
    dev->failed = 1;
}

void *cpu_scratch(struct dev *dev, size_t bytes, const char *op)
{
    struct cpu *cpu = dev->state;
    struct err e = { 0 };

    if (bytes > cpu->room) {
        free(cpu->scratch);
        dev_gave(dev, DEV_SCRATCH, cpu->room);
        cpu->scratch = cpu_alloc(dev, bytes, &e);
        cpu->room = cpu->scratch ? bytes : 0;
        dev_took(dev, DEV_SCRATCH, cpu->room);
        if (!cpu->scratch)
            mark_failed(dev, op);
    }
    return cpu->scratch;
}

bool cpu_reserve_rope(struct dev *dev, int64_t n)
{
    struct cpu *cpu = dev->state;
    struct err e = { 0 };

    if (n > cpu->rope_room) {
        free(cpu->rope_table);
        cpu->rope = (struct rope_angles){ 0 };
        cpu->rope_table = cpu_alloc(dev, (size_t)n * sizeof(float), &e);
        cpu->rope_room = cpu->rope_table ? n : 0;
        if (!cpu->rope_table)
            mark_failed(dev, "rope");
    }
    return cpu->rope_table != NULL;
}

const struct dev_type cpu_dev = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .put = cpu_copy,
    .get = cpu_copy,
    .copy = cpu_copy,
    .zero = cpu_zero,
    .sync = cpu_sync,
    .describe = cpu_describe,
    .any_size = true,
    .instructions = cpu_instructions,
    .mark = cpu_mark,
    .between = cpu_between,
};
