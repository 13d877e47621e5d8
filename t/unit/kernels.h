#pragma once

#include "kernels/dev.h"

/*
 * kernels - what the tests know of each operation, and one call of it
 *
 * A case is an operation, a shape (a list of numbers that its functions read),
 * and the arguments that follow from the shape.
 */
enum { MAX_ARGS = 10, SHAPE = 8 };
enum { MAX_SHAPES = 24, MAX_BENCH = 8, MAX_GRADS = 5 };

enum role {
    IN,      /* read; must not change */
    OUT,     /* set, whatever it held */
    GRAD,    /* added to, or overwritten */
    STATE,   /* read and written */
    SCRATCH, /* written; its contents do not matter */
};

enum content {
    NUMBERS,  /* of the activations' type */
    FLOATS,   /* F32 whatever the activations are */
    POSITIVE, /* F32, above 0 */
    HALVES,   /* BF16 whatever the activations are */
    DOUBLE,   /* F64 */
    TOKENS,   /* I32 in [0, limit) */
    TARGETS,  /* the same, and some -1 */
};

struct arg {
    const char *name;
    enum role role;
    enum content content;
    int64_t dim[4]; /* ends at the first 0 */
    int64_t limit;
    bool optional;
};

/* The arguments of an operation for a shape; compute inputs that follow from
 * others, with the references; call it; the number of its operations. */
typedef void args_fn(struct arg *, const int64_t *s);
typedef void prepare_fn(struct tensor **a, const int64_t *s);
typedef void call_fn(const struct ops *, struct dev *, struct tensor **a,
                     const int64_t *s);
typedef double flops_fn(const int64_t *s);

struct op_test {
    const char *name;
    args_fn *args;
    prepare_fn *prepare; /* or NULL */
    call_fn *call;
    bool whole;       /* exact on whole numbers */
    double tolerance; /* of F32, against |want| + mean |want| */
    int alias;        /* argument 0 may be this one; 0: none */
    int64_t shape[MAX_SHAPES][SHAPE];
    int64_t bench[MAX_BENCH][SHAPE];
    flops_fn *flops;
    double range; /* inputs lie within; 0: 4 */
    int cpu_from; /* shapes from this one on are for the CPU only; 0: none */
    /* How many roundings of intermediate values are allowed: a GPU keeps those
     * in the type of the activations, as its matrix units require. */
    double inner;
    double inner_cpu; /* the same on the CPU */
    /* The matrix of weights that may be marked as fp8; 0: none.  Operands that
     * are given round to the same numbers everywhere; the gradient of logits,
     * which differ by their own rounding, may fall to the next number of E5M2:
     * how many steps of those are allowed. */
    int fp8;
    double inner_fp8;
    /* Of a gradient: the operation, and the shapes in which the references of
     * the two are compared by finite differences (kernels_grad.c). */
    const struct op_test *forward;
    int64_t grad[MAX_GRADS][SHAPE];
};

/* The test of an operation, in kernels_ops*.c, begins with one of these. */
#define OP(op)          #op, op##_args, NULL, op##_call
#define OP_PREPARED(op) #op, op##_args, op##_prepare, op##_call
#define STEP(op)        #op, step_args, step_prepare, op##_call

#define DECLARE(op) extern const struct op_test op##_test;
OPS(DECLARE)
#undef DECLARE

extern const struct op_test *const op_tests[]; /* ends with NULL */

/* One way to call an operation. */
struct variant {
    enum dtype type; /* of activations */
    bool overwrite;
    bool whole; /* fill with whole numbers, tolerance 0 */
    bool in_place;
    bool fp8;
    int absent; /* the argument left out, or -1 */
};

struct buffer {
    struct tensor host, got; /* the reference's and the device's view */
    unsigned char *before, *want, *back;
    void *mem;
    size_t bytes; /* without the guards */
    bool present;
};

struct op_case {
    const struct op_test *test;
    const int64_t *shape;
    struct variant v;
    struct arg arg[MAX_ARGS];
    struct buffer buf[MAX_ARGS];
    int n;
    uint64_t seed;
    bool gpu;
    char why[160]; /* the first thing that was wrong */
};

/* Draw the arguments of a case; copy them to the device; call the operation
 * there, or on the host if dev is NULL; free them. */
void op_case_make(struct op_case *, struct dev *);
void op_case_put(struct op_case *, struct dev *);
void op_case_call(struct op_case *, const struct ops *, struct dev *);
void op_case_free(struct op_case *, struct dev *);

/* Compare every variant of one shape with the reference; how many failed.  A
 * failure is described by a diag() unless quiet. */
int judge_shape(struct dev *, const struct ops *, const struct op_test *,
                const int64_t *shape, bool quiet);

/* Compare the gradients of the references with finite differences; tell is
 * called with the largest difference for each shape and input. */
typedef void gradient_fn(const char *name, const char *input, double off);
void check_gradients(gradient_fn *tell);
