#pragma once

#include "kernels/cuda/algorithms.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/gemm.h"

/*
 * gemm_cublaslt - what the files share that compute the products of gemm.h
 *
 * gemm_cublaslt.cu has gemm() and runs algorithms of cuBLASLt, or our own
 * kernel; gemm_trial.cu finds the right and the fastest of these algorithms.
 */
enum {
    GEMM_OFFERS = 32, /* algorithms that the library may suggest */
    GEMM_PROBLEMS = 256,
    GEMM_WORKSPACE = 64 << 20, /* of each queue */
};

/* A kind of product, and how it is computed. */
struct gemm_problem {
    struct algorithms_key key;
    cublaslt_desc desc;
    cublaslt_layout a, b, d;
    struct cublaslt_result with;
    float ms; /* its time; 0: not measured */
    bool usable;
    bool separate; /* the epilogue has a kernel of its own */
};

struct gemm_state {
    struct cublaslt lt;
    cublaslt_handle handle; /* null: no library */
    struct err why;
    bool said_slow;   /* that there is no library */
    double bandwidth; /* bytes a millisecond, or 0 */
    struct gemm_problem *problem[GEMM_PROBLEMS];
    int n;
    struct algorithms algorithms;
};

/* Compute a product with an algorithm; false if the library rejects it. */
bool gemm_run_algorithm(struct dev *dev, const struct gemm_state *p,
                        const struct gemm_problem *problem,
                        const struct gemm *q,
                        const struct cublaslt_result *with);

/*
 * gemm_try_offers() removes the offers that compute other numbers than sums in
 * double, says so, and returns how many are left.  It sets the
 * algorithm of the problem to the fastest of these, or to the first if the
 * device is deterministic or has no memory for a trial.  Outputs lie in memory
 * of their own.
 */
int gemm_try_offers(struct dev *dev, const struct gemm_state *p,
                    struct gemm_problem *problem, const struct gemm *q,
                    struct cublaslt_result *offer, int n);

/* Bytes that a copy reads and writes in a millisecond; 0 if not known. */
double gemm_measure_bandwidth(struct dev *dev);

/* The product without its epilogue, except a bias. */
static inline struct gemm gemm_without_epilogue(const struct gemm *q)
{
    struct gemm p = *q;

    p.epilogue = q->epilogue == GEMM_GELU && q->bias ? GEMM_BIAS : GEMM_PLAIN;
    if (p.epilogue == GEMM_PLAIN)
        p.bias = nullptr;
    if (q->epilogue == GEMM_GELU && q->aux)
        p.d = q->aux;
    p.aux = nullptr;
    return p;
}

/* Whether the epilogue is one that can follow in a kernel of its own. */
static inline bool gemm_can_separate(const struct gemm *q)
{
    return q->epilogue != GEMM_PLAIN && q->epilogue != GEMM_BIAS;
}

/* Bytes that the epilogue reads and writes there. */
static inline double gemm_epilogue_bytes(const struct gemm *q)
{
    const double d = (double)q->m * (double)q->n * (double)dtype_size(q->out);

    if (q->epilogue == GEMM_BIAS_GRAD)
        return (double)q->m * (double)q->k * (double)dtype_size(q->type);
    return q->epilogue == GEMM_GELU        ? 2.0 * d
           : q->epilogue == GEMM_GELU_GRAD ? 3.0 * d
                                           : 0.0;
}
