#ifndef TRAINER_MODEL_GPT_H
#define TRAINER_MODEL_GPT_H

#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * gpt - the model, described once
 *
 * gpt_build() appends the decoder that [model] describes to a graph: pre-norm
 * blocks of causal attention and an MLP between an embedding and a head.  It
 * reads as the paper's figure; devices, gradients and memory are the graph's.
 *
 * For training and evaluation the graph ends in the losses, one a token.  For
 * decoding it takes one token of each sequence, keeps keys and values, and
 * ends in the logits.
 *
 * Names are those of GPT-2's checkpoints, without "transformer."; q, k and v
 * are one matrix (H+2K)D x C, and so are the gate and the value of a gated MLP
 * (2F x C, the gate first).  Every matrix is out x in.
 */
struct gpt {
    struct graph graph;
    int tokens, targets; /* inputs */
    int output;          /* losses(N) or logits(B, padded vocabulary) */
    int64_t B, T;        /* sequences, positions each */
};

/* Fill the graph for B sequences of the model's context.  c must have been
 * resolved as far as the shapes (settings_shapes()). */
void gpt_build(struct gpt *, const struct settings *, int64_t B);
void gpt_build_decoder(struct gpt *, const struct settings *, int64_t B,
                       int64_t room);

/* The initial numbers of parameter i, a function of the seed and of i alone: a
 * CPU draws them whatever the device, in the host's memory. */
void gpt_draw(const struct gpt *, int i, uint64_t seed, struct dev *cpu,
              float *out);
/* Make the 16-bit copies from the weights. */
void gpt_copy_weights(struct gpt *);

/* (x, y) of rows(B*T); y may hold -1 where there is nothing to predict. */
void gpt_put(struct gpt *, const int32_t *x, const int32_t *y);

/* Parameters without the embeddings, and operations of a token, forward and
 * backward, by the two usual counts: 6N, and with attention (PaLM). */
double gpt_flops_per_token(const struct gpt *);

#endif
