#ifndef EMU_EMU_CUH
#define EMU_EMU_CUH

/*
 * emu - CUDA's way of running threads, on a CPU, for tests
 *
 * A .cu file that keeps to a few rules (doc/cuda.md) compiles with g++ through
 * this header, and its kernels then run here, slowly and strictly.  Each CUDA
 * thread is a fiber with a stack of its own; a block is a list of fibers that
 * one thread of the host runs, switching where CUDA threads would wait for
 * each other: at barriers and in warp operations.  Blocks are spread over the
 * host's threads.  What this finds and a run on one GPU may not:
 *
 *      a barrier or a warp operation that not all of its threads reach
 *      a missing barrier (threads run in another order: GT_EMU_ORDER)
 *      a missing event between streams (GT_EMU_STREAMS; emu_run.cuh)
 *      memory read before it was written (it starts as NaN)
 *      memory overrun (built with -fsanitize=address)
 *      a wide access that is not aligned, a launch too large for the hardware
 *      a host pointer passed to a kernel, work for the default stream
 *
 * GT_EMU_ORDER is fwd (the default), rev, or a seed that shuffles threads and
 * blocks; GT_EMU_CAPABILITY is that of the GPU, 90 unless told.  A mistake
 * prints the kernel, the block and who waits where, and ends the program with
 * status 86, or aborts it if GT_EMU_ABORT is set.
 */
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <time.h>

#define __global__
#define __device__
#define __host__
#define __constant__    static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
        : x(a), y(b), z(c)
    {
    }
};

namespace emu
{

/* What the hardware grants. */
enum {
    WARP = 32,
    MAX_THREADS = 1024,
    MAX_GRID_YZ = 65535,
    MAX_SHARED_PLAIN = 48 << 10,        /* of one block, before opting in */
    MAX_ARGUMENTS = 4096,               /* bytes, of one kernel */
};

/* The compute capability, as 90 for 9.0. */
inline int capability()
{
    static const int n = [] {
        const char *s = getenv("GT_EMU_CAPABILITY");

        return s ? (int)strtol(s, nullptr, 10) : 90;
    }();
    return n;
}

/* Shared memory of one block, after opting in. */
inline size_t most_shared()
{
    switch (capability()) {
    case 75: return 64 << 10;
    case 80: case 87: return 163 << 10;
    case 86: case 89: case 120: return 99 << 10;
    default: return 227 << 10;
    }
}

enum state : uint8_t { NEW, READY, IN_WARP, IN_BLOCK, DONE };

struct copy {
    void *dst;
    const void *src;
    unsigned n;
    int group;
};

/* One CUDA thread. */
struct fiber {
    uint3 tid;
    void *sp, *stack;
    state st;
    unsigned lane, warp;
    int op;                     /* the warp operation it waits in, */
    unsigned mask;              /* with whom, */
    void *data;                 /* and what it brings */
    int group;                  /* copies committed so far */
    std::vector<copy> copies;   /* asynchronous ones not yet made */
};

struct warp {
    unsigned arrived, live;
};

/* A __shared__ array of the block: where in the source it is declared. */
struct shared {
    const void *site;
    void *p;
    size_t n;
    bool used;
};

/* Bytes of shared memory that a launch asks for, and that a block of it may
 * have with what the kernel itself declares. */
struct shared_room {
    size_t dynamic, most;
};

/* The block that one thread of the host is running. */
struct block {
    dim3 grid, dim;
    uint3 id;
    int n, live, at_barrier, vote[3], place;
    std::vector<fiber> fibers;
    std::vector<warp> warps;
    std::vector<int> order, place_of;
    std::vector<void *> stacks;         /* not in use */
    std::vector<shared> arrays;
    void *dynamic;
    size_t dynamic_size, shared_size, shared_most;
    void *host_sp;
    const char *name;
    void (*call)(void *);
    void *arg;
};

inline thread_local block *blk;
inline thread_local fiber *cur;

inline size_t stack_size()
{
    static const size_t n = [] {
        const char *s = getenv("GT_EMU_STACK_KB");

        return (s ? strtoul(s, nullptr, 10) : 256ul) << 10;
    }();
    return n;
}

[[noreturn]] inline void die(void)
{
    if (getenv("GT_EMU_ABORT"))
        abort();
    fflush(stdout);
    _Exit(86);
}

[[noreturn]] inline void fail(const char *why)
{
    static const char *const doing[] = { "not started", "ready",
                                         "in a warp operation",
                                         "at a barrier", "done" };
    int shown = 0;

    fprintf(stderr, "emu: kernel %s, block (%u,%u,%u): %s\n", blk->name,
            blk->id.x, blk->id.y, blk->id.z, why);
    for (int i = 0; i < blk->n && shown < 8; i++) {
        const fiber *f = &blk->fibers[(size_t)i];

        if (f->st != DONE && ++shown)
            fprintf(stderr, "emu:   thread (%u,%u,%u) %s\n", f->tid.x,
                    f->tid.y, f->tid.z, doing[f->st]);
    }
    die();
}

/*
 * Leave this fiber, its registers on its stack and the stack's address in
 * *save, and go on where `to` was left.
 */
extern "C" void emu_switch(void **save, void *to);
extern "C" void emu_entry(void);

#if defined(__x86_64__)
enum { FRAME = 8, FRAME_ENTRY = 6 };
__asm__(".text\n"
        ".weak emu_switch\n"
        ".type emu_switch, @function\n"
        "emu_switch:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov %rsi, %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "ret\n");
#elif defined(__aarch64__)
enum { FRAME = 20, FRAME_ENTRY = 11 };
__asm__(".text\n"
        ".weak emu_switch\n"
        "emu_switch:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]; stp x21, x22, [sp, #16]\n"
        "stp x23, x24, [sp, #32]; stp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n"
        "mov x9, sp; str x9, [x0]; mov sp, x1\n"
        "ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]\n"
        "ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]; ldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160; ret\n");
#else
# error "emu.cuh: emu_switch() is not written for this processor"
#endif

inline void *new_stack()
{
    void *p;

    if (!blk->stacks.empty()) {
        p = blk->stacks.back();
        blk->stacks.pop_back();
        return p;
    }
    p = mmap(nullptr, stack_size(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("emu: a stack");
        abort();
    }
    return p;
}

/* Switch to fiber i, giving it a stack if it has not begun. */
inline void resume(int i)
{
    fiber *f = &blk->fibers[(size_t)i], *me = cur;

    blk->place = blk->place_of[(size_t)i];
    if (f->st == NEW) {
        void **top;

        f->st = READY;
        f->stack = new_stack();
        top = (void **)((char *)f->stack + stack_size() - 64);
        top[-1] = nullptr;              /* a return address that ends it */
        f->sp = top - FRAME;
        ((void **)f->sp)[FRAME_ENTRY] = (void *)emu_entry;
    }
    cur = f;
    emu_switch(me ? &me->sp : &blk->host_sp, f->sp);
}

/* The first that can run, from the place after the current one; or -1. */
inline int next_ready()
{
    for (int k = 1; k <= blk->n; k++) {
        const int i = blk->order[(size_t)((blk->place + k) % blk->n)];

        if (blk->fibers[(size_t)i].st <= READY)
            return i;
    }
    return -1;
}

inline int must_find_ready()
{
    const int i = next_ready();

    if (i < 0)
        fail("a barrier or a warp operation is not reached by all of its "
             "threads");
    return i;
}

inline void yield()
{
    const int i = must_find_ready();

    if (&blk->fibers[(size_t)i] != cur)
        resume(i);
}

inline void open_barrier()
{
    blk->at_barrier = 0;
    for (int i = 0; i < blk->n; i++)
        if (blk->fibers[(size_t)i].st == IN_BLOCK)
            blk->fibers[(size_t)i].st = READY;
}

inline void barrier()
{
    cur->st = IN_BLOCK;
    if (++blk->at_barrier == blk->live)
        open_barrier();
    else
        yield();
}

/* What a warp operation does once its lanes have met; lane[i] may be null. */
typedef void meet_fn(fiber **lane, unsigned mask);

inline void meet(unsigned mask, meet_fn *run)
{
    warp *w = &blk->warps[cur->warp];
    fiber *lane[WARP] = {};

    if ((w->arrived & mask) != mask)
        return;
    for (int i = 0; i < WARP; i++) {
        if (!(mask >> i & 1))
            continue;
        lane[i] = &blk->fibers[cur->warp * WARP + (unsigned)i];
        if (lane[i]->op != cur->op || lane[i]->mask != mask)
            fail("lanes of one mask are in different warp operations");
    }
    run(lane, mask);
    w->arrived &= ~mask;
    for (int i = 0; i < WARP; i++)
        if (lane[i])
            lane[i]->st = READY;
}

/* Every lane of the mask hands in data; the last computes for all of them. */
inline void collective(unsigned mask, int op, void *data, meet_fn *run)
{
    warp *w = &blk->warps[cur->warp];

    if (!(mask >> cur->lane & 1))
        fail("a lane is not in the mask it passes");
    if (mask & ~w->live)
        fail("a mask names a lane that has returned, or never was");
    cur->op = op;
    cur->mask = mask;
    cur->data = data;
    cur->st = IN_WARP;
    w->arrived |= 1u << cur->lane;
    meet(mask, run);
    if (cur->st == IN_WARP)
        yield();
}

/*
 * The bottom of every fiber's stack: run a thread, and while the next to run
 * is new, run that one on the same stack.  The loop has no visible end, and no
 * visible noreturn either, before which the address sanitizer would unwind the
 * wrong stack.
 */
__attribute__((no_sanitize_address)) inline void run_fiber()
{
    for (static volatile int forever = 1; forever;) {
        void *stack = cur->stack, *dead, *to = blk->host_sp;
        int i = -1;

        blk->call(blk->arg);
        cur->st = DONE;
        cur->copies.clear();
        blk->live--;
        blk->warps[cur->warp].live &= ~(1u << cur->lane);
        if (blk->live && blk->at_barrier == blk->live)
            open_barrier();
        if (blk->live)
            i = must_find_ready();
        if (i >= 0 && blk->fibers[(size_t)i].st == NEW) {
            cur = &blk->fibers[(size_t)i];
            cur->st = READY;
            cur->stack = stack;
            blk->place = blk->place_of[(size_t)i];
            continue;
        }
        blk->stacks.push_back(stack);   /* no one runs on it before we leave */
        cur = i < 0 ? nullptr : &blk->fibers[(size_t)i];
        if (cur) {
            blk->place = blk->place_of[(size_t)i];
            to = cur->sp;
        }
        emu_switch(&dead, to);
    }
}

extern "C" __attribute__((weak, noinline, no_sanitize_address)) void
emu_entry(void)
{
    run_fiber();
}

/* ---- the order of threads and blocks ----------------------------------- */

struct order {
    bool reverse;
    uint64_t seed;              /* 0: none */
};

inline const order &the_order()
{
    static const order o = [] {
        const char *s = getenv("GT_EMU_ORDER");
        order r = { s && *s == 'r', 0 };

        if (s && *s >= '0' && *s <= '9')
            r.seed = strtoull(s, nullptr, 10) * 0x9e3779b97f4a7c15u + 1;
        return r;
    }();
    return o;
}

inline uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

inline void shuffle(std::vector<int> &v, size_t n, uint64_t salt)
{
    uint64_t s = the_order().seed + salt * 0xbf58476d1ce4e5b9u;

    v.resize(n);
    for (size_t i = 0; i < n; i++)
        v[i] = (int)(the_order().reverse ? n - 1 - i : i);
    if (the_order().seed)
        for (size_t i = n; i-- > 1;)
            std::swap(v[i], v[next_random(&s) % (i + 1)]);
}

/* ---- blocks ------------------------------------------------------------ */

/* An array that the whole block shares; each place in the source has its own.
 * Exactly as large as asked for, so that the address sanitizer sees its end. */
inline void *shared_at(const void *site, size_t n)
{
    shared *s = nullptr;

    for (shared &a : blk->arrays)
        if (a.site == site && a.n == n)
            s = &a;
    if (!s) {
        blk->arrays.push_back({ site, nullptr, n, false });
        s = &blk->arrays.back();
        if (posix_memalign(&s->p, 128, n) != 0)
            abort();
    }
    if (!s->used) {
        s->used = true;
        memset(s->p, 0xff, n);
        blk->shared_size += n;
        if (blk->shared_size > blk->shared_most ||
            blk->shared_size - blk->dynamic_size > MAX_SHARED_PLAIN)
            fail("more shared memory than a block can have");
    }
    return s->p;
}

/* The address of a variable template over a lambda's type: one for each place
 * in the source, and for each instance of the template around it. */
template <class L> inline char site;

inline void *dynamic_shared()
{
    return blk->dynamic;
}

inline void set_dynamic(size_t n)
{
    if (n != blk->dynamic_size) {
        free(blk->dynamic);
        blk->dynamic = nullptr;
        if (n && posix_memalign(&blk->dynamic, 128, n) != 0)
            abort();
        blk->dynamic_size = n;
    }
    if (n)
        memset(blk->dynamic, 0xff, n);
}

inline void set_geometry(dim3 dim)
{
    const int n = (int)(dim.x * dim.y * dim.z);

    blk->fibers.resize((size_t)n);
    blk->warps.resize((size_t)(n + WARP - 1) / WARP);
    blk->place_of.resize((size_t)n);
    for (unsigned i = 0; i < (unsigned)n; i++) {
        fiber *f = &blk->fibers[i];

        f->tid = { i % dim.x, i / dim.x % dim.y, i / dim.x / dim.y };
        f->warp = i / WARP;
        f->lane = i % WARP;
    }
    blk->dim = dim;
    blk->n = n;
}

/* Run one block of a grid to its end. */
inline void run_block(const char *name, dim3 grid, dim3 dim, shared_room room,
                      size_t index, void (*call)(void *), void *arg)
{
    static thread_local struct keeper {
        block *b;
        ~keeper()
        {
            if (!b)
                return;
            for (void *p : b->stacks)
                munmap(p, stack_size());
            for (shared &a : b->arrays)
                free(a.p);
            free(b->dynamic);
            delete b;
        }
    } mine;

    if (!mine.b)
        mine.b = new block();
    blk = mine.b;
    blk->name = name;
    blk->grid = grid;
    blk->call = call;
    blk->arg = arg;
    blk->id = { (unsigned)(index % grid.x),
                (unsigned)(index / grid.x % grid.y),
                (unsigned)(index / grid.x / grid.y) };
    set_geometry(dim);
    shuffle(blk->order, (size_t)blk->n, index + 1);
    for (int i = 0; i < blk->n; i++)
        blk->place_of[(size_t)blk->order[(size_t)i]] = i;
    for (fiber &f : blk->fibers)
        f.st = NEW, f.group = 0;
    for (size_t w = 0; w < blk->warps.size(); w++) {
        const int lanes = blk->n - WARP * (int)w;

        blk->warps[w] = { 0, lanes >= WARP ? ~0u : (1u << lanes) - 1 };
    }
    for (shared &a : blk->arrays)
        a.used = false;
    set_dynamic(room.dynamic);
    blk->shared_size = room.dynamic;
    blk->shared_most = room.most;
    blk->live = blk->n;
    blk->at_barrier = 0;
    blk->place = blk->n - 1;
    cur = nullptr;
    resume(blk->order[0]);
    blk = nullptr;
}

template <class F>
void run_grid(const char *name, dim3 grid, dim3 dim, shared_room room, F &body)
{
    const long long n = (long long)grid.x * grid.y * grid.z;
    std::vector<int> order;

    shuffle(order, (size_t)n, 0);
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
    for (long long i = 0; i < n; i++)
        run_block(
            name, grid, dim, room, (size_t)order[(size_t)i],
            [](void *f) { (*(F *)f)(); }, &body);
}

} /* namespace emu */

#define threadIdx (emu::cur->tid)
#define blockIdx  (emu::blk->id)
#define blockDim  (emu::blk->dim)
#define gridDim   (emu::blk->grid)

#include "emu/emu_run.cuh"
#include "emu/emu_warp.cuh"

#endif
