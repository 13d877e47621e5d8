/*
 * emu_race - find accesses to shared memory that no barrier orders
 *
 * The kernels are compiled with the compiler's thread sanitizer, and this file
 * takes the place of its library: it is told of every access.  For each byte of
 * shared memory it keeps who wrote last, and two threads that read since.  Two
 * accesses by different threads, one of which writes, must have a barrier of
 * the block or, in one warp, __syncwarp() between them; a shuffle is not
 * enough.  An asynchronous copy writes from the moment when it is requested to
 * the moment when its thread waits for it.  Atomic operations do not race.
 *
 * In a queue that overlaps, no thread may use memory of the device before it
 * has called begin_kernel().
 *
 * So a race is found in any order of the threads, also where the numbers are
 * right.  The first one ends the program as other mistakes do.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

namespace emu
{

struct access {
    uint32_t epoch, synced, thread;
};

struct cell {
    access wrote, read[2];
};

struct area {
    const char *base;
    std::vector<cell> cells;
};

static thread_local std::vector<area> areas;

/* The state of the bytes that begin at base.  Areas in use stay in front. */
static cell *cells_of(const void *base, size_t n)
{
    size_t i = 0;

    while (i < areas.size() &&
           (areas[i].base != base || areas[i].cells.size() < n))
        i++;
    if (i == areas.size())
        areas.push_back({ (const char *)base, std::vector<cell>(n) });
    if (i)
        std::swap(areas[i], areas[i - 1]);
    return areas[i ? i - 1 : 0].cells.data();
}

static bool inside(const void *p, const void *base, size_t n)
{
    return base && p >= base && (const char *)p < (const char *)base + n;
}

/* The state of the byte at p; null if it is not shared memory. */
static cell *find_cells(const void *p)
{
    if (inside(p, blk->dynamic, blk->dynamic_size))
        return cells_of(blk->dynamic, blk->dynamic_size) +
               ((const char *)p - (const char *)blk->dynamic);
    for (size_t i = 0; i < blk->arrays_used; i++) {
        const shared &s = blk->arrays[i];
        if (inside(p, s.p, s.n))
            return cells_of(s.p, s.n) + ((const char *)p - (const char *)s.p);
    }
    return nullptr;
}

/* Whether an earlier access is done before one that this thread makes now. */
static __forceinline__ bool is_ordered(const access &a, const access &now)
{
    return a.epoch != now.epoch || a.thread == now.thread ||
           (a.thread / WARP == now.thread / WARP && a.synced != now.synced);
}

[[noreturn, gnu::cold]] static void fail_race(const access &a,
                                              const access &now,
                                              const char *before,
                                              const char *after)
{
    fprintf(stderr, "emu: thread %u %s shared memory that thread %u %s\n",
            now.thread, after, a.thread, before);
    fail("two threads use the same shared memory without a barrier");
}

static __forceinline__ void check_order(const access &a, const access &now,
                                        const char *before, const char *after)
{
    if (!is_ordered(a, now))
        fail_race(a, now, before, after);
}

/* Keep two readers, of different warps if there are such. */
static __forceinline__ void keep_reader(cell *c, const access &now)
{
    access *a = &c->read[0], *b = &c->read[1];

    if (a->epoch != now.epoch || a->thread == now.thread)
        *a = now;
    else if (b->epoch != now.epoch || b->thread == now.thread)
        *b = now;
    else if (a->thread / WARP == now.thread / WARP)
        *a = now;
    else if (b->thread / WARP == now.thread / WARP)
        *b = now;
}

static void note_cells(cell *c, size_t n, bool write, const fiber *who)
{
    const access now = { blk->epoch, blk->warps[who->warp].synced,
                         who->warp * WARP + who->lane };
    for (size_t i = 0; i < n; i++, c++) {
        check_order(c->wrote, now, "wrote", write ? "overwrites" : "reads");
        if (!write) {
            keep_reader(c, now);
            continue;
        }
        check_order(c->read[0], now, "read", "overwrites");
        check_order(c->read[1], now, "read", "overwrites");
        c->wrote = now;
    }
}

/* The linker may choose functions of the library that call this, too. */
static void note(const void *p, size_t n, bool write, const fiber *who)
{
    static thread_local bool busy;
    cell *c;

    if (busy || !blk)
        return;
    busy = true;
    if (who && blk->overlaps && !who->begun && on_device(p, n))
        fail("a thread uses memory before begin_kernel()");
    c = who ? find_cells(p) : nullptr;
    if (c)
        note_cells(c, n, write, who);
    busy = false;
}

static const bool installed = (note_access = note, true);

/* Most accesses are to other memory, such as the emulator's own. */
static inline void note_if_shared(const void *p, size_t n, bool write)
{
    if (blk && (((uintptr_t)p >= blk->low && (uintptr_t)p < blk->high) ||
                (blk->overlaps && cur && !cur->begun)))
        note(p, n, write, cur);
}

} /* namespace emu */

/* ---- what the compiler calls ------------------------------------------- */

#define ACCESS(n)                                                              \
    extern "C" void __tsan_read##n(void *p);                                   \
    extern "C" void __tsan_write##n(void *p);                                  \
    extern "C" void __tsan_unaligned_read##n(void *p);                         \
    extern "C" void __tsan_unaligned_write##n(void *p);                        \
    void __tsan_read##n(void *p)                                               \
    {                                                                          \
        emu::note_if_shared(p, n, false);                                      \
    }                                                                          \
    void __tsan_write##n(void *p)                                              \
    {                                                                          \
        emu::note_if_shared(p, n, true);                                       \
    }                                                                          \
    void __tsan_unaligned_read##n(void *p)                                     \
    {                                                                          \
        emu::note_if_shared(p, n, false);                                      \
    }                                                                          \
    void __tsan_unaligned_write##n(void *p)                                    \
    {                                                                          \
        emu::note_if_shared(p, n, true);                                       \
    }
ACCESS(1);
ACCESS(2);
ACCESS(4);
ACCESS(8);
ACCESS(16);

extern "C" void __tsan_read_range(void *p, unsigned long n);
extern "C" void __tsan_write_range(void *p, unsigned long n);

void __tsan_read_range(void *p, unsigned long n)
{
    emu::note_if_shared(p, n, false);
}

void __tsan_write_range(void *p, unsigned long n)
{
    emu::note_if_shared(p, n, true);
}

/* Atomic operations are carried out; the rest has no meaning here. */
#define ATOMIC(bits, T)                                                        \
    extern "C" T __tsan_atomic##bits##_load(const T *p, int);                  \
    extern "C" void __tsan_atomic##bits##_store(T *p, T v, int);               \
    extern "C" T __tsan_atomic##bits##_fetch_add(T *p, T v, int);              \
    extern "C" int __tsan_atomic##bits##_compare_exchange_weak(T *p, T *was,   \
                                                               T v, int, int); \
    extern "C" int __tsan_atomic##bits##_compare_exchange_strong(              \
        T *p, T *was, T v, int, int);                                          \
    T __tsan_atomic##bits##_load(const T *p, int)                              \
    {                                                                          \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                           \
    }                                                                          \
    void __tsan_atomic##bits##_store(T *p, T v, int)                           \
    {                                                                          \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                              \
    }                                                                          \
    T __tsan_atomic##bits##_fetch_add(T *p, T v, int)                          \
    {                                                                          \
        return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                     \
    }                                                                          \
    int __tsan_atomic##bits##_compare_exchange_weak(T *p, T *was, T v, int,    \
                                                    int)                       \
    {                                                                          \
        return __atomic_compare_exchange_n(p, was, v, false, __ATOMIC_SEQ_CST, \
                                           __ATOMIC_SEQ_CST);                  \
    }                                                                          \
    int __tsan_atomic##bits##_compare_exchange_strong(T *p, T *was, T v, int,  \
                                                      int)                     \
    {                                                                          \
        return __atomic_compare_exchange_n(p, was, v, false, __ATOMIC_SEQ_CST, \
                                           __ATOMIC_SEQ_CST);                  \
    }
ATOMIC(8, unsigned char);
ATOMIC(32, unsigned);
ATOMIC(64, unsigned long);

extern "C" void __tsan_init(void);
extern "C" void __tsan_func_entry(void *);
extern "C" void __tsan_func_exit(void);
extern "C" void __tsan_vptr_update(void **, void *);
extern "C" void __tsan_vptr_read(void **);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_vptr_update(void **, void *)
{
}

void __tsan_vptr_read(void **)
{
}
