#pragma once

#include <cudnn_backend.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * sdpa_graph - attention as a graph of cuDNN's operations
 *
 * This needs no GPU: a graph can be built, and cuDNN asked for its kernels, for
 * a GPU that is only described to it.  So a test can check that cuDNN still has
 * its Hopper kernels for these graphs (t/cuda/sdpa.c).
 *
 * sdpa_graph_build() describes one shape, forward or backward, for the GPU of a
 * handle, or for none; false if cuDNN rejects it.  sdpa_graph_offers() asks how
 * cuDNN would compute it, on that GPU or on one that is described; the offers
 * belong to the graph, which sdpa_graph_clear() frees.
 *
 * sdpa_graph_kernel_name() is the name of the kernel of an execution plan,
 * which says for which GPUs it was written; "a kernel without a name" if cuDNN
 * does not tell it.  It returns out.
 *
 * cudnn.c finds the library; the emulator has a stand-in, t/emu/cudnn_emu.c.
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
                         cudnnBackendAttributeType_t, int64_t n, const void *);
    cudnnStatus_t (*get)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                         cudnnBackendAttributeType_t, int64_t room, int64_t *n,
                         void *);
    cudnnStatus_t (*execute)(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack);
    void (*last_error)(char *, size_t);
};

/* Older libraries than 9.6 are rejected: with them, dq must be
 * cleared first. */
int cudnn_load(struct cudnn *, struct err *);

/* The tensors that a kernel is given, and then the numbers, by value. */
enum sdpa_uid {
    SDPA_Q = 1,
    SDPA_K,
    SDPA_V,
    SDPA_DQ,
    SDPA_DK,
    SDPA_DV,
    SDPA_O,
    SDPA_DO,
    SDPA_LSE,
    SDPA_SUM,
    SDPA_WIDE_DQ,
    SDPA_SCALE,
    SDPA_LOWEST,
    SDPA_ONE,
    SDPA_UIDS
};

/* The score of a key after its query: the lowest float. */
#define SDPA_LOW (-3.4028234663852886e38f)

struct sdpa_shape {
    int64_t B, H, K, T, D; /* H heads of queries, K of keys and values */
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
    char why[256]; /* cuDNN's message for the first error */
};

bool sdpa_graph_build(struct sdpa_graph *, const struct cudnn *, cudnnHandle_t,
                      const struct sdpa_shape *);
int sdpa_graph_offers(struct sdpa_graph *, cudnnBackendDescriptor_t device,
                      cudnnBackendDescriptor_t *offer, int most);
void sdpa_graph_clear(struct sdpa_graph *);

char *sdpa_graph_kernel_name(const struct cudnn *,
                             cudnnBackendDescriptor_t plan, char *out,
                             size_t room);
