#pragma once

#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * gpt - build the graph of the model
 *
 * gpt_build() appends the decoder that [model] describes to a graph: pre-norm
 * blocks of causal attention and an MLP between an embedding and a head.
 * Devices, gradients and memory are left to the graph.
 *
 * For training and evaluation the graph ends in the losses, one per token.
 * For decoding it takes one token of each sequence, caches keys and values,
 * and ends in the logits.
 *
 * Names follow GPT-2's checkpoints, without "transformer."; q, k and v
 * are one matrix (H+2K)D x C, and so are the gate and the value of a gated MLP
 * (2F x C, the gate first).  Every matrix is out x in.
 */
struct gpt {
    struct graph graph;
    int tokens, targets; /* inputs */
    int begins;          /* input of a mask of documents, or GRAPH_NONE */
    int teacher;         /* input of a teacher, or GRAPH_NONE */
    int32_t eot;         /* with which a document begins */
    int output;          /* losses(N) or logits(B, padded vocabulary) */
    int64_t B, T;        /* sequences, positions each */
};

/* Fill the graph for B sequences of the model's context.  The settings must
 * have gone through resolve_settings(). */
void gpt_build(struct gpt *, const struct settings *, int64_t B);
/* It takes T tokens of each sequence: those that follow others, in a cache for
 * this many positions, or without one (0) the first.  It ends in losses(B*T) or
 * logits(B*T, padded vocabulary). */
void gpt_build_decoder(struct gpt *, const struct settings *, int64_t B,
                       int64_t T, int64_t capacity, bool losses);
/* For the first T positions of B sequences, up to the attention of the last
 * layer: only its keys and values are of use (graph_store_keys). */
void gpt_build_prompts(struct gpt *, const struct settings *, int64_t B,
                       int64_t T);

/* The initial values from..from+n of parameter i, where `from` is even, a
 * function of the seed, of i and of their place: the CPU draws them in the
 * memory of the host, whatever the device. */
void gpt_init_weights(const struct gpt *, int i, int64_t from, int64_t n,
                      uint64_t seed, struct dev *cpu, float *out);

/* The number of positions that the model knows; 0 if any position will do. */
int64_t gpt_positions(const struct model_settings *);

/* From now on, it is for B sequences of T positions, at most as many positions
 * in all as it was built for, and no longer than the context. */
void gpt_resize(struct gpt *, int64_t B, int64_t T);

/* Inputs x and targets y, B*T each; y is -1 where nothing is predicted, and
 * NULL if the graph has no losses. */
void gpt_set_inputs(struct gpt *, const int32_t *x, const int32_t *y);
/* The words of a teacher (head_fn), if the graph was built for one. */
void gpt_set_teacher(struct gpt *, const int32_t *words);

/* Operations per token of the products and of attention, forward and backward,
 * without recomputation, as an MFU counts them (arXiv:2204.02311, app. B). */
double gpt_flops_per_token(const struct gpt *);
