#pragma once

/*
 * emu_warp - the functions that CUDA threads call: warp operations, intrinsics
 *
 * Included by emu.cuh.  A warp operation is a collective (emu_fiber.cuh): the
 * last lane to come computes for all of them.  So mma.sync and ldmatrix are
 * computed as the PTX manual defines them, on the fragments of all 32 lanes.
 */

/* ---- vectors and half precision ---------------------------------------- */

struct __align__(8) float2
{
    float x, y;
};
struct __align__(8) uint2
{
    unsigned x, y;
};
struct __align__(16) float4
{
    float x, y, z, w;
};
struct __align__(16) int4
{
    int x, y, z, w;
};
struct __align__(16) uint4
{
    unsigned x, y, z, w;
};

struct bf16 {
    uint16_t bits;
};

struct f16 {
    _Float16 v;
};

static inline uint32_t __float_as_uint(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float __uint_as_float(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

static inline float to_float(bf16 x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}

static inline float to_float(f16 x)
{
    return (float)x.v;
}

static inline float to_float(float x)
{
    return x;
}

/* To nearest, ties to even; a NaN stays one. */
template <class T> T from_float(float x)
{
    if constexpr (sizeof(T) == 4) {
        return x;
    } else if constexpr (std::is_same_v<T, f16>) {
        return { (_Float16)x };
    } else {
        const uint32_t u = __float_as_uint(x);

        if (x != x)
            return { (uint16_t)(u >> 16 | 0x40) };
        return { (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16) };
    }
}

/* The same address for a wider access, which it must be aligned to. */
template <class W, class T> W *aligned(T *p)
{
    if ((uintptr_t)p % sizeof(W))
        emu::fail("an access that is not aligned to its width");
    return (W *)p;
}

/* Two numbers side by side, the first in the lower half. */
template <class T> uint32_t pair(float lower, float upper)
{
    const T v[2] = { from_float<T>(lower), from_float<T>(upper) };
    uint32_t u;

    memcpy(&u, (const void *)v, sizeof u);
    return u;
}

/* Two numbers of 8 bits. */
template <int MANTISSA> uint16_t fp8_pair(float lower, float upper)
{
    return (uint16_t)(fp8_from_float(lower, MANTISSA) |
                      fp8_from_float(upper, MANTISSA) << 8);
}

/* ---- arithmetic -------------------------------------------------------- */

static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

static inline float fast_exp(float x)
{
    return expf(x);
}

static inline float fast_exp2(float x)
{
    return exp2f(x);
}

static inline float __fdividef(float a, float b)
{
    return a / b;
}

static inline float __frcp_rn(float x)
{
    return 1.0f / x;
}

static inline unsigned __popc(unsigned x)
{
    return (unsigned)__builtin_popcount(x);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

template <class T> T __ldg(const T *p)
{
    return *p;
}

using std::max;
using std::min;

/* ---- waiting ----------------------------------------------------------- */

static inline void __threadfence()
{
}

static inline void __syncthreads()
{
    emu::barrier();
}

namespace emu
{

enum { SHUFFLE = 1, BALLOT, ALL, ANY, SYNC = OP_SYNCWARP, MMA, LDMATRIX };

struct shuffle_data {
    uint64_t in, out;
    int from;
};

template <class T> T shuffle_from(unsigned mask, T v, int from)
{
    shuffle_data d = { 0, 0, from };

    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    memcpy(&d.in, &v, sizeof v);
    collective(mask, SHUFFLE, &d, [](fiber **lane, unsigned m) {
        for (int i = 0; i < WARP; i++) {
            shuffle_data *to;

            if (!(m >> i & 1))
                continue;
            to = (shuffle_data *)lane[i]->data;
            if (!lane[to->from])
                fail("a shuffle reads a lane that is not in its mask");
            to->out = ((shuffle_data *)lane[to->from]->data)->in;
        }
    });
    memcpy((void *)&v, &d.out, sizeof v);
    return v;
}

inline unsigned vote(unsigned mask, int op, bool yes)
{
    shuffle_data d = { yes, 0, 0 };

    collective(mask, op, &d, [](fiber **lane, unsigned m) {
        uint64_t all = 0;

        for (int i = 0; i < WARP; i++)
            if (m >> i & 1)
                all |= ((shuffle_data *)lane[i]->data)->in << i;
        for (int i = 0; i < WARP; i++)
            if (m >> i & 1)
                ((shuffle_data *)lane[i]->data)->out = all;
    });
    return (unsigned)d.out;
}

} /* namespace emu */

template <class T> T __shfl_sync(unsigned mask, T v, int from)
{
    return emu::shuffle_from(mask, v, from & 31);
}

template <class T> T __shfl_xor_sync(unsigned mask, T v, int x)
{
    return emu::shuffle_from(mask, v, (int)emu::cur->lane ^ x);
}

template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned by)
{
    const unsigned from = emu::cur->lane + by;

    return emu::shuffle_from(mask, v, (int)(from < 32 ? from : emu::cur->lane));
}

template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned by)
{
    const unsigned me = emu::cur->lane;

    return emu::shuffle_from(mask, v, (int)(by <= me ? me - by : me));
}

static inline unsigned __ballot_sync(unsigned mask, int yes)
{
    return emu::vote(mask, emu::BALLOT, yes != 0);
}

static inline int __any_sync(unsigned mask, int yes)
{
    return emu::vote(mask, emu::ANY, yes != 0) != 0;
}

static inline int __all_sync(unsigned mask, int yes)
{
    return emu::vote(mask, emu::ALL, yes == 0) == 0;
}

static inline void __syncwarp(unsigned mask = ~0u)
{
    emu::vote(mask, emu::SYNC, false);
}

static inline int __syncthreads_or(int yes)
{
    emu::block *b = emu::blk;

    /* three barriers: all have voted, all have read, the vote is cleared */
    if (yes)
        b->vote[0] = 1;
    emu::barrier();
    yes = b->vote[0];
    emu::barrier();
    b->vote[0] = 0;
    emu::barrier();
    return yes;
}

/* ---- atomics ----------------------------------------------------------- */

template <class T, class F>
__attribute__((no_sanitize("thread"))) T atomic_update(T *p, F f)
{
    using word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    word was = __atomic_load_n((word *)p, __ATOMIC_RELAXED), now;
    T old, next;

    do {
        memcpy(&old, &was, sizeof old);
        next = f(old);
        memcpy(&now, &next, sizeof now);
    } while (!__atomic_compare_exchange_n((word *)p, &was, now, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return old;
}

template <class T> T atomicAdd(T *p, std::type_identity_t<T> v)
{
    return atomic_update(p, [v](T old) { return (T)(old + v); });
}

template <class T> T atomicMax(T *p, std::type_identity_t<T> v)
{
    return atomic_update(p, [v](T old) { return old > v ? old : v; });
}

template <class T> T atomicOr(T *p, std::type_identity_t<T> v)
{
    return atomic_update(p, [v](T old) { return (T)(old | v); });
}

/* ---- tensor cores and asynchronous copies, as in ptx.cuh ---------------- */

namespace emu
{

inline float half_of(uint32_t pair, int which, bf16)
{
    return to_float(bf16{ (uint16_t)(pair >> 16 * which) });
}

inline float half_of(uint32_t pair, int which, f16)
{
    const uint16_t u = (uint16_t)(pair >> 16 * which);
    f16 h;

    memcpy((void *)&h, &u, sizeof h);
    return to_float(h);
}

struct mma_data {
    float *d;
    const uint32_t *a, *b;
};

struct ldmatrix_data {
    uint32_t *out;
    const void *row;
};

template <bool TRANS>
__attribute__((no_sanitize("thread"))) void ldmatrix(fiber **lane, unsigned)
{
    for (int t = 0; t < WARP; t++) {
        ldmatrix_data *to = (ldmatrix_data *)lane[t]->data;

        for (int i = 0; i < 4; i++) {
            uint16_t pair[2];

            for (int h = 0; h < 2; h++) {
                const int r = TRANS ? t % 4 * 2 + h : t / 4;
                const int c = TRANS ? t / 4 : t % 4 * 2 + h;
                const void *row = ((ldmatrix_data *)lane[8 * i + r]->data)->row;

                if ((uintptr_t)row % 16)
                    fail("ldmatrix: a row that is not 16-byte aligned");
                if (note_access)
                    note_access(row, 16, false, lane[8 * i + r]);
                pair[h] = ((const uint16_t *)row)[c];
            }
            to->out[i] = (uint32_t)pair[0] | (uint32_t)pair[1] << 16;
        }
    }
}

} /* namespace emu */

/* d(16,8) += a(16,16) b(16,8), in the layout of mma.sync.m16n8k16 */
template <class T>
void mma_16816(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    emu::mma_data data = { d, a, b };

    emu::collective(~0u, emu::MMA, &data, [](emu::fiber **lane, unsigned) {
        float A[16][16], B[8][16];

        for (int t = 0; t < 32; t++) {
            const emu::mma_data *p = (emu::mma_data *)lane[t]->data;
            const int g = t / 4, c = t % 4 * 2;

            for (int h = 0; h < 2; h++) {
                for (int i = 0; i < 4; i++)
                    A[g + i % 2 * 8][c + h + i / 2 * 8] =
                        emu::half_of(p->a[i], h, T());
                for (int i = 0; i < 2; i++)
                    B[g][c + h + 8 * i] = emu::half_of(p->b[i], h, T());
            }
        }
        for (int t = 0; t < 32; t++) {
            const emu::mma_data *p = (emu::mma_data *)lane[t]->data;

            for (int i = 0; i < 4; i++) {
                const int row = t / 4 + i / 2 * 8;
                const int column = t % 4 * 2 + i % 2;
                float sum = 0;

                /* not by a pointer, which emu_race.cu would be told of */
                for (int k = 0; k < 16; k++)
                    sum += A[row][k] * B[column][k];
                p->d[i] += sum;
            }
        }
    });
}

/* four 8x8 matrices; lane 8i + r names row r of matrix i */
static inline void ldmatrix4(uint32_t out[4], const void *row)
{
    emu::ldmatrix_data data = { out, row };

    emu::collective(~0u, emu::LDMATRIX, &data, emu::ldmatrix<false>);
}

static inline void ldmatrix4_trans(uint32_t out[4], const void *row)
{
    emu::ldmatrix_data data = { out, row };

    emu::collective(~0u, emu::LDMATRIX + 1, &data, emu::ldmatrix<true>);
}

/* Copy 16 bytes to shared memory, n of them read and the rest 0.  The copy is
 * made as late as possible, to find a missing wait or barrier; or at once if
 * threads run in reverse order, to find data that is overwritten too early. */
static inline void copy_async(void *dst, const void *src, unsigned n = 16)
{
    if ((uintptr_t)dst % 16 || (n && (uintptr_t)src % 16))
        emu::fail("an asynchronous copy that is not 16-byte aligned");
    if (emu::the_order().reverse) {
        memset(dst, 0, 16);
        memcpy(dst, src, n);
        return;
    }
    if (emu::note_access) /* from now on it may be overwritten */
        emu::note_access(dst, 16, true, emu::cur);
    emu::cur->copies.push_back({ dst, src, n, emu::cur->group });
}

static inline void begin_kernel()
{
    emu::cur->begun = true;
}

static inline void copy_commit()
{
    emu::cur->group++;
}

/* Wait until at most PENDING of the committed groups are not done; those are as
 * late as possible. */
template <int PENDING> void copy_wait()
{
    std::vector<emu::copy> &v = emu::cur->copies;
    size_t n = 0;

    for (; n < v.size() && v[n].group < emu::cur->group - PENDING; n++) {
        memset(v[n].dst, 0, 16);
        memcpy(v[n].dst, v[n].src, v[n].n);
    }
    v.erase(v.begin(), v.begin() + (long)n);
}
