#ifndef TRAINER_CONVERT_CONVERT_H
#define TRAINER_CONVERT_CONVERT_H

#include <jansson.h>

#include "trainer/training/job.h"

/*
 * convert - models in the files of other programs
 *
 * A format is a table: our parameter, their tensor, and how one is cut from
 * the other (transposed, or the rows of q, k, v, gate or up).  Writing and
 * reading walk the same table.
 *
 *      hf      Hugging Face: config.json, model.safetensors and tokenizer.json,
 *              as GPT-2, Llama or, with qk_norm, Qwen3, by what the model is;
 *              read also as Mistral and Qwen2, and in several files
 *      llm.c   the checkpoint of llm.c's GPT-2, version 3 (fp32)
 *      gguf    what llama.cpp runs: weights in fp32 and the tokenizer in one
 *              file; written only
 *
 * Weights are host memory, laid out as the graph's block.  What a file says of
 * its model is all understood, or refused by the name of the key or tensor that
 * is not; a model is never read as another one.
 */
enum convert_cut { CUT_ALL, CUT_TURNED, CUT_Q, CUT_K, CUT_V, CUT_GATE, CUT_UP };

/* Whether we may lack what they have: never; then they get zeros; then it is
 * left out, and is zero with us where they leave it out. */
enum convert_lack { LACK_NOT, LACK_ZEROS, LACK_SKIP };

struct convert_row {
    const char *ours, *theirs; /* %d is the layer */
    enum convert_cut cut;
    enum convert_lack lack;
};

struct convert_family {
    const char *type, *architecture; /* as config.json says */
    const char *prefix;              /* of all names but the head's */
    const struct convert_row *rows;  /* ends with a NULL */
};

/* Which family the settings are of; NULL with e filled if of none. */
const struct convert_family *convert_family(const struct settings *,
                                            struct err *);

int convert_write_hf(const struct job *, const float *weights,
                     const char *folder, struct err *);
int convert_write_llmc(const struct job *, const float *weights,
                       const char *path, struct err *);
int convert_write_gguf(const struct job *, const float *weights,
                       const char *path, struct err *);

/* The settings that a model in a file stands for, as --set would have them,
 * one a line. */
int convert_settings_hf(const char *folder, struct buf *out, struct err *);
int convert_settings_llmc(const char *path, struct buf *out, struct err *);
int convert_read_hf(const struct job *, float *weights, const char *folder,
                    struct err *);
int convert_read_llmc(const struct job *, float *weights, const char *path,
                      struct err *);

/* Of hf, what stands beside the tensors: config.json and the tokenizer; and
 * an object out of a file there, NULL with e filled. */
int convert_describe_hf(const struct job *, const struct convert_family *,
                        const char *folder, struct err *);
json_t *convert_json(const char *folder, const char *name, struct err *);

/* For the formats' files. */
const struct graph_param *convert_param(const struct graph *, const char *ours,
                                        int layer);
/* Shape and numbers of their tensor, from ours or, if `in`, to ours.
 * theirs has room for rows * cols. */
struct convert_piece {
    int64_t rows, cols; /* theirs; cols 0: a vector */
    int64_t from;       /* first row of ours */
    bool turned;
};
void convert_piece(const struct job *, const struct convert_row *,
                   const struct graph_param *, struct convert_piece *);
void convert_copy(const struct convert_piece *, float *ours, float *theirs,
                  bool in);

#endif
