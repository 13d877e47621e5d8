#ifndef KERNELS_CPU_CPU_H
#define KERNELS_CPU_CPU_H

#include "kernels/dev.h"

/*
 * cpu - what the CPU's operations share: threads, scratch memory, a BLAS
 *
 * The operations are compiled three times from the same files, cpu_NAME.c,
 * for three instruction sets; the device takes the table of the best one the
 * machine has when it opens, or of the one GTRAIN_ISA names.  CPU(op) is the
 * name of an operation in the set being compiled: avx512_act_fwd.  Sets beyond
 * AVX-512 have its table, and multiply bf16 in another way.
 *
 * A thread that computes a share of an operation never depends on how many
 * others there are: work is cut into pieces by its shape alone, and what is
 * summed over pieces is summed in their order.  So the results have the same
 * bits for any number of threads.
 */
#define CPU_PASTE2(a, b) a##_##b
#define CPU_PASTE(a, b)  CPU_PASTE2(a, b)
#define CPU(op)          CPU_PASTE(CPU_ISA, op)

/* What a product of bf16 multiplies at a time: a number, a pair of neighbours
 * (AVX512_BF16), a tile of pairs (AMX), or one in plain C. */
enum cpu_words { CPU_NUMBERS, CPU_PAIRS, CPU_TILES, CPU_PLAIN_TILES };

extern bool avx512_gemm_pays(enum cpu_words);

#define CPU_DECLARE(op) extern op##_fn avx512_##op, avx2_##op, plain_##op;
OPS(CPU_DECLARE)
OPS_OPTIONAL(CPU_DECLARE)
#undef CPU_DECLARE

extern const struct ops avx512_ops, avx2_ops, plain_ops;

/* Which angles of rotary positions a table holds. */
struct turns {
    int64_t T, D, from;
    float theta;
};

struct cpu {
    const char *isa;
    enum cpu_words words;
    char *scratch;              /* grows to the largest need, then stays */
    size_t room;
    struct turns turns;
    float *turns_table;
    int64_t turns_room;
    double mark[DEV_MARKS];     /* when each was given; 0: not yet */
};

static inline int cpu_threads(const struct dev *dev)
{
    return dev->threads > 0 ? dev->threads : 1;
}

/*
 * Scratch memory of the device, 64-byte aligned, valid until the next
 * operation asks.  It grows when an operation needs more than any before, so
 * no step after the first allocates.  NULL marks the device as failed.
 */
void *cpu_scratch(struct dev *, size_t bytes, const char *op);

/* Room for n floats in turns_table, kept in the same way; false if there is
 * none. */
bool cpu_turns(struct dev *, int64_t n);

static inline bool turns_equal(const struct turns *a, const struct turns *b)
{
    return a->T == b->T && a->D == b->D && a->from == b->from &&
           !(a->theta < b->theta) && !(a->theta > b->theta);
}

#endif
