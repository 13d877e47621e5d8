#ifndef T_KERNELS_H
#define T_KERNELS_H

#include "kernels/dev.h"

/*
 * kernels - what the judge of the operations knows of each of them
 *
 * A case is an operation, a shape (a list of numbers that its functions read)
 * and the arguments that follow from the shape.
 */
enum { MAX_ARGS = 10, MAX_SHAPES = 10, MAX_BENCH = 8, SHAPE = 8 };

enum role {
    IN,      /* read; must not change */
    OUT,     /* set, whatever it held */
    GRAD,    /* added to, or set where fresh */
    STATE,   /* read and written */
    SCRATCH, /* written; what is worth nothing */
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

struct op_test {
    const char *name;
    void (*args)(struct arg *, const int64_t *s);
    /* Make inputs that follow from others, with the references. */
    void (*prepare)(struct tensor **a, const int64_t *s);
    void (*call)(const struct ops *, struct dev *, struct tensor **a,
                 const int64_t *s);
    bool whole;       /* exact on whole numbers */
    double tolerance; /* of F32, against |want| + mean |want| */
    int alias;        /* argument 0 may be this one; 0: none */
    int64_t shape[MAX_SHAPES][SHAPE];
    int64_t bench[MAX_BENCH][SHAPE];
    double (*flops)(const int64_t *s);
    double range;               /* inputs lie within; 0: 4 */
    /* A GPU keeps what is between in the type of the activations, as it must
     * for its matrix units: how many roundings that may cost. */
    double inner;
    double inner_cpu; /* the same on the CPU */
};

extern const struct op_test op_tests[]; /* ends with a NULL name */

/* Gradients of the references against finite differences of their forward:
 * tells, for each operation and kind, the largest difference. */
typedef void gradient_fn(const char *name, int kind, double off);
void check_gradients(gradient_fn *tell);

#endif
