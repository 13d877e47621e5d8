#pragma once

#include <string.h>

#include "kernels/dev.h"

/*
 * cpu - what the CPU's operations share: instruction sets, threads, memory
 *
 * The files of this folder, but for cpu.c, are compiled for each instruction
 * set: CPU_ISA is avx512, avx2 or plain on x86-64; sve512, sve256, neon or
 * plain on aarch64; and plain on other processors.  The device takes the best
 * set that the machine has when it opens, or the one that GTRAIN_ISA names.
 * Sets beyond AVX-512 have its operations, and multiply bf16 in another way.
 *
 * A function that several files of a set use is declared with CPU_SYMBOL.  Its
 * name in C is the same in each set, and its symbol ends in the set's name:
 * cpu_act_fwd() is the symbol cpu_act_fwd_avx2, for example.
 *
 * A thread that computes a share of an operation never depends on how many
 * others there are: work is divided by its shape alone, and sums over pieces
 * are added in the order of the pieces.  So the results have the same bits for
 * any number of threads.
 */
#define CPU_SYMBOL_OF(name, isa) __asm__(#name "_" #isa)
#define CPU_SYMBOL_IN(name, isa) CPU_SYMBOL_OF(name, isa)
#define CPU_SYMBOL(name)         CPU_SYMBOL_IN(name, CPU_ISA)

/* The operations of the set that is being compiled. */
#if defined(CPU_ISA)
#define CPU_DECLARE(op) extern op##_fn cpu_##op CPU_SYMBOL(cpu_##op);
OPS(CPU_DECLARE)
OPS_CPU(CPU_DECLARE)
#undef CPU_DECLARE
#endif

/* Fill a table with the operations of a set. */
typedef void cpu_fill_table_fn(struct ops *);

extern cpu_fill_table_fn cpu_fill_table_avx512, cpu_fill_table_avx2,
    cpu_fill_table_sve512, cpu_fill_table_sve256, cpu_fill_table_neon,
    cpu_fill_table_plain;

/* Whether multiplying pairs of bf16 is faster here than multiplying floats. */
extern bool gemm_pairs_pay_avx512(void);

/* What a table of the angles of rotary positions was made for. */
struct rope_angles {
    int64_t T, D, from;
    struct rope rope;
};

struct cpu {
    const char *isa;
    struct ops ops; /* what dev->ops points at */
    int per_word;   /* numbers of bf16 in a word: 1, or 2: pairs */
    int64_t near;   /* words of five eighths of the second cache */
    char *scratch;  /* grows to the largest need, then stays */
    size_t room;
    struct rope_angles rope;
    float *rope_table;
    int64_t rope_room;
    double mark[DEV_MARKS]; /* the time of each; 0: not yet set */
};

static inline int cpu_threads(const struct dev *dev)
{
    return dev->threads > 0 ? dev->threads : 1;
}

/*
 * How much has been taken of each thread's share of some work, up to three
 * kinds of it; {0} at first.  The threads of a team take pieces of their own
 * shares, whose rows they have mostly read or written in the operation before,
 * and then help the others, so that a thread that is held up delays no other.
 */
enum { CPU_SHARES = 64, CPU_WORKS = 3 };

struct cpu_share {
    int64_t taken[CPU_WORKS];
} __attribute__((aligned(64)));

/* The next of n rows of `groups` pieces, as row * groups + group; a share is
 * some rows, and its first groups are first.  -1 if nothing is left. */
int64_t cpu_take(struct cpu_share share[CPU_SHARES], int work, int64_t n,
                 int64_t groups);

/*
 * Scratch memory of the device, 64-byte aligned, valid until the next
 * operation asks.  It grows when an operation needs more than any before, so
 * no step after the first allocates.  NULL marks the device as failed.
 */
void *cpu_scratch(struct dev *, size_t bytes, const char *op);

/* Make rope_table as large as n floats; false marks the device as failed. */
bool cpu_reserve_rope(struct dev *, int64_t n);
