#pragma once

/*
 * emu - an emulator that runs CUDA kernels on a CPU, for tests
 *
 * A .cu file that keeps to a few rules (doc/cuda.md) compiles with g++ through
 * this header, and its kernels then run here, slowly and strictly.  Each CUDA
 * thread is a fiber with its own stack; a block is a list of fibers that one
 * thread of the host runs, switching where CUDA threads wait for each other: at
 * barriers and in warp operations.  Blocks are distributed over the host's
 * threads.  It finds mistakes that a run on one GPU may not show:
 *
 *      a barrier or a warp operation that not all of its threads reach
 *      a missing barrier (threads run in another order: GT_EMU_ORDER)
 *      a missing event between streams (GT_EMU_STREAMS; emu_run.cuh)
 *      memory read before it is written (it is filled with NaN)
 *      memory overrun (built with -fsanitize=address)
 *      a wide access that is not aligned, a launch too large for the hardware
 *      a host pointer passed to a kernel, work for the default stream
 *
 * GT_EMU_ORDER is fwd (the default), rev, or a seed that shuffles threads and
 * blocks; GT_EMU_CAPABILITY is that of the GPU, 90 by default.  A mistake
 * prints the kernel, the block and what its threads wait for, and ends the
 * program with status 86, or aborts it if GT_EMU_ABORT is set.
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

#include "kernels/fp8.h"

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

#include "emu/emu_fiber.cuh"

namespace emu
{

/* ---- the order of threads and blocks ----------------------------------- */

struct order {
    bool reverse;
    uint64_t seed; /* 0: none */
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

enum { MOST_ARRAYS = 256 }; /* declared in all kernels */

inline void note_bounds(const void *p, size_t n)
{
    blk->low = std::min(blk->low, (uintptr_t)p);
    blk->high = std::max(blk->high, (uintptr_t)p + n);
}

/* An array that the whole block shares, one for each declaration in the source.
 * It has exactly the size asked for, so that the address sanitizer finds
 * overruns. */
inline void *shared_at(const void *site, size_t n)
{
    size_t i = 0;

    while (i < blk->arrays.size() &&
           (blk->arrays[i].site != site || blk->arrays[i].n != n))
        i++;
    if (i == blk->arrays.size()) {
        void *p;
        if (posix_memalign(&p, 128, n) != 0)
            abort();
        blk->arrays.push_back({ site, p, n });
    }
    if (i >= blk->arrays_used) {
        std::swap(blk->arrays[i], blk->arrays[blk->arrays_used]);
        i = blk->arrays_used++;
        memset(blk->arrays[i].p, 0xff, n);
        note_bounds(blk->arrays[i].p, n);
        blk->shared_size += n;
        if (blk->shared_size > blk->shared_most ||
            blk->shared_size - blk->dynamic_size > MAX_SHARED_PLAIN)
            fail("more shared memory than a block can have");
    }
    return blk->arrays[i].p;
}

/* The address of a variable template over the type of a lambda: a different one
 * for each declaration in the source and each instance of its template. */
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
    if (n) {
        memset(blk->dynamic, 0xff, n);
        note_bounds(blk->dynamic, n);
    }
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
inline void run_block(const kernel_launch &k, size_t index,
                      void (*call)(void *), void *arg)
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

    if (!mine.b) {
        mine.b = new block();
        /* never moved, so that emu_race.cu may look at any time */
        mine.b->arrays.reserve(MOST_ARRAYS);
    }
    blk = mine.b;
    blk->name = k.name;
    blk->overlaps = k.overlaps;
    blk->grid = k.grid;
    blk->call = call;
    blk->arg = arg;
    blk->id = { (unsigned)(index % k.grid.x),
                (unsigned)(index / k.grid.x % k.grid.y),
                (unsigned)(index / k.grid.x / k.grid.y) };
    set_geometry(k.dim);
    shuffle(blk->order, (size_t)blk->n, index + 1);
    for (int i = 0; i < blk->n; i++)
        blk->place_of[(size_t)blk->order[(size_t)i]] = i;
    for (fiber &f : blk->fibers)
        f.st = NEW, f.begun = false, f.group = 0;
    for (size_t w = 0; w < blk->warps.size(); w++) {
        const int lanes = blk->n - WARP * (int)w;

        blk->warps[w] = { 0, lanes >= WARP ? ~0u : (1u << lanes) - 1, 0 };
    }
    blk->arrays_used = 0;
    blk->low = UINTPTR_MAX;
    blk->high = 0;
    set_dynamic(k.room.dynamic);
    blk->shared_size = k.room.dynamic;
    blk->shared_most = k.room.most;
    blk->live = blk->n;
    blk->at_barrier = 0;
    blk->epoch++;
    blk->place = blk->n - 1;
    cur = nullptr;
    resume(blk->order[0]);
    blk = nullptr;
}

template <class F> void run_grid(const kernel_launch &k, F &body)
{
    const long long n = (long long)k.grid.x * k.grid.y * k.grid.z;
    std::vector<int> order;

    shuffle(order, (size_t)n, 0);
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
    for (long long i = 0; i < n; i++)
        run_block(
            k, (size_t)order[(size_t)i], [](void *f) { (*(F *)f)(); }, &body);
}

} /* namespace emu */

#define threadIdx (emu::cur->tid)
#define blockIdx  (emu::blk->id)
#define blockDim  (emu::blk->dim)
#define gridDim   (emu::blk->grid)

#include "emu/emu_run.cuh"
#include "emu/emu_warp.cuh"
