#ifndef KERNELS_CUDA_SDPA_GRAPH_H
#define KERNELS_CUDA_SDPA_GRAPH_H

#include <cudnn_backend.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * sdpa_graph - attention in cuDNN's terms
 *
 * Needs no GPU: a graph can be built, and cuDNN asked for its offers, for a GPU
 * that is only described to it.  So the tests can see that the graphs still
 * lead to the kernels for Hopper (t/cuda/sdpa.c).
 *
 * sdpa_graph_build() describes one shape, forward or backward, for the GPU of
 * a handle, or for none; false if cuDNN refuses.  sdpa_graph_offers() asks how
 * it would do that, there or on a device that is described; the offers belong
 * to the graph, which sdpa_graph_clear() frees.
 *
 * cudnn.c finds the library; cudnn_emu.c answers the same calls beside the
 * emulation.
 */
struct cudnn {
    size_t (*version)(void);
    cudnnStatus_t (*create)(cudnnHandle_t *);
    cudnnStatus_t (*close)(cudnnHandle_t);
    cudnnStatus_t (*set_stream)(cudnnHandle_t, void *stream);
    cudnnStatus_t (*make)(cudnnBackendDescriptorType_t,
                          cudnnBackendDescriptor_t *);
    cudnnStatus_t (*destroy)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*finalize)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*set)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                         cudnnBackendAttributeType_t, int64_t n,
                         const void *);
    cudnnStatus_t (*get)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                         cudnnBackendAttributeType_t, int64_t room,
                         int64_t *n, void *);
    cudnnStatus_t (*execute)(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack);
    void (*last_error)(char *, size_t);
};

/* Not before 9.6: until then dq had to be cleared first. */
int cudnn_load(struct cudnn *, struct err *);

/* The tensors and numbers that a plan is given. */
enum sdpa_uid {
    SDPA_Q = 1, SDPA_K, SDPA_V,
    SDPA_DQ, SDPA_DK, SDPA_DV,
    SDPA_O, SDPA_DO, SDPA_LSE,
    SDPA_SUM, SDPA_WIDE_DQ,
    SDPA_SCALE, SDPA_LOWEST, SDPA_ONE,
    SDPA_UIDS
};

/* What stands for a score that does not count: the lowest float. */
#define SDPA_LOW (-3.4028234663852886e38f)

struct sdpa_shape {
    int64_t B, H, K, T, D;      /* H heads of queries, K of keys and values */
    int32_t bf16, backward;
};

enum { SDPA_DESCRIPTORS = 192, SDPA_OPERATIONS = 32 };

struct sdpa_graph {
    const struct cudnn *api;
    struct sdpa_shape shape;
    cudnnBackendDescriptor_t all[SDPA_DESCRIPTORS], op[SDPA_OPERATIONS], graph;
    int n, ops;
    int64_t next_uid;
    bool bad;
    char why[256];              /* cuDNN's words for the first refusal */
};

bool sdpa_graph_build(struct sdpa_graph *, const struct cudnn *,
                      cudnnHandle_t, const struct sdpa_shape *);
int sdpa_graph_offers(struct sdpa_graph *, cudnnBackendDescriptor_t device,
                      cudnnBackendDescriptor_t *offer, int most);
void sdpa_graph_clear(struct sdpa_graph *);

#endif
