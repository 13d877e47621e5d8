#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dev.h"

BEGIN_EXTERN_C

/* A stream, and memory for the work that it is given, which runs in order. */
struct cuda_queue {
    void *stream; /* cudaStream_t */
    void *scratch;
    size_t scratch_size;
    void *workspace; /* of products; gemm_cublaslt.cu */
    bool overlaps;   /* a kernel may start while the one before it ends */
};

/* A queue beside the main one, and events that tell when the main one's work
 * was given, and when its own is done. */
struct cuda_side {
    struct cuda_queue queue;
    void *given, *done[DEV_STREAM_SLOTS]; /* cudaEvent_t */
};

/*
 * cuda - the state of a CUDA device, for the files that implement it
 *
 * dev->state points at one of these.  Operations give their work to the queue
 * `now`, so that each may use its scratch memory.  That is the main queue,
 * except between cuda_side_begin() and cuda_side_end().
 */
struct cuda {
    struct cuda_queue main, *now;
    struct cuda_side weights; /* makes gradients of weights */
    struct cuda_side second;  /* of dev.h; opened when first used */
    struct ops ops;           /* what dev->ops points at */
    int index;
    int sms;                  /* multiprocessors */
    int capability;           /* 90 for 9.0 */
    size_t shared_max;        /* of a block, after opting in */
    size_t cache;             /* size of the second-level cache */
    struct cuda_stage *stage; /* pinned memory for put() and get() */
    void *mark[DEV_MARKS];    /* cudaEvent_t, made when first used */
    bool said_slow;           /* that attention is slower than cuDNN's */
    bool careful;             /* wait after each launch, to name it */
    bool recording;           /* between capture_begin() and capture_end() */
    int failed_before;        /* whether the device had failed before that */
    int captures;             /* recorded work that is not freed */
    char why[160];            /* the message of the first failure */
    struct gemm_state *gemm;  /* products; gemm_cublaslt.cu */
    struct sdpa *sdpa;        /* attention by cuDNN; sdpa.c */
    char name[128];
};

static inline struct cuda *cuda_of(const struct dev *dev)
{
    return (struct cuda *)dev->state;
}

#define CUDA_DECLARE(op) extern op##_fn cuda_##op;
OPS(CUDA_DECLARE)
#undef CUDA_DECLARE

/*
 * At least n bytes of device memory, 256-byte aligned, valid until the next
 * call: an operation calls it once.  NULL marks the device as failed.  The
 * memory grows to the largest size that was asked for, and stays.
 */
void *cuda_scratch(struct dev *dev, size_t n, const char *op);

/* Mark the device as failed in op, unless it has already failed. */
void cuda_failed(struct dev *dev, const char *op, const char *why);

/*
 * Work given between begin and end waits for all work before it, and has the
 * queue of s; work given after the wait for i waits for what ended as i.  begin
 * returns the stream, or NULL if the capture has failed.
 */
void *cuda_side_begin(struct dev *dev, struct cuda_side *s);
void cuda_side_end(struct dev *dev, struct cuda_side *s, int i);
void cuda_side_wait(struct dev *dev, struct cuda_side *s, int i);

/* dev_alloc(), but NULL marks the device as failed. */
void *cuda_alloc(struct dev *dev, size_t n, enum dev_use, const char *op);

END_EXTERN_C
