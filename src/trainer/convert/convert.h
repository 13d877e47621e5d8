#pragma once

#include <jansson.h>

#include "trainer/engine/engine.h"

/*
 * convert - models in the files of other programs
 *
 * A format is a table: our parameter, their tensor, and the slice of ours that
 * theirs holds (all, transposed, or the rows of q, k, v, gate or up).  Writing
 * and reading use the same table.
 *
 *      hf      Hugging Face: config.json, model.safetensors and tokenizer.json;
 *              written as GPT-2, Llama, Qwen2, Qwen3 or SmolLM3, or with our
 *              names; also read as Mistral, and from several files
 *      llm.c   the checkpoint of llm.c's GPT-2, version 3 (fp32) or 5 (bf16)
 *      gguf    for llama.cpp: weights and the tokenizer in one file; written
 *              only, in fp32, fp16, or with 8 or 4 bits
 *
 * Weights are in the memory of the host, in the layout of the graph's block.  A
 * key or tensor without a counterpart in gtrain is an error, so that a model is
 * never mistaken for another one.
 */
enum convert_slice_kind {
    SLICE_ALL,
    SLICE_TRANSPOSED,
    SLICE_Q,
    SLICE_K,
    SLICE_V,
    SLICE_GATE,
    SLICE_UP
};

/* What happens if our model or the file lacks the tensor. */
enum convert_missing {
    MISSING_NO,    /* it is an error */
    MISSING_ZEROS, /* zeros are written for our model */
    MISSING_OURS,  /* our model may lack it: nothing is written or read */
};

struct convert_row {
    const char *ours, *theirs; /* %d is the layer */
    enum convert_slice_kind slice;
    enum convert_missing missing;
};

struct convert_family {
    const char *type, *architecture; /* as in config.json */
    const char *prefix;              /* of all names but the head's */
    const struct convert_row *rows;  /* ends with a NULL */
};

/* The family of the model; NULL with e filled if it belongs to none. */
const struct convert_family *convert_family(const struct settings *,
                                            struct err *);

/* Does the model have all biases that one like GPT-2 can have? */
bool convert_has_biases(const struct settings *);

typedef int convert_write_fn(const struct engine *, const float *weights,
                             const char *path, struct err *);
/* Append the settings of a model, one "key=value" a line. */
typedef int convert_settings_fn(const char *path, struct buf *out,
                                struct err *);
typedef int convert_read_fn(const struct engine *, float *weights,
                            const char *path, struct err *);

convert_write_fn convert_write_hf, convert_write_llmc, convert_write_llmc_bf16,
    convert_write_gguf, convert_write_gguf_f16, convert_write_gguf_q8_0,
    convert_write_gguf_q4_0;
/* Fails if the format cannot represent the model; that of hf always can. */
int convert_check_llmc(const struct settings *, struct err *);
int convert_check_gguf(const struct settings *, struct err *);
convert_settings_fn convert_settings_hf, convert_settings_llmc;
convert_read_fn convert_read_hf, convert_read_llmc;

/* ---- for the formats -------------------------------------------------- */

/* convert_write_hf() for a model of no family, with the Python file that has
 * its class. */
convert_write_fn convert_write_own;
extern const char convert_own_model[]; /* python/modeling_gtrain.py */
/* The keys that only config.json of such a model has; and back, as settings. */
json_t *convert_describe_own(const struct settings *);
int convert_settings_own(const json_t *, struct buf *, struct err *);
/* Write config.json and the tokenizer of hf; for a model of no family, NULL. */
int convert_describe_hf(const struct engine *, const struct convert_family *,
                        const char *folder, struct err *);
/* Do the weights of hf in a folder have a head that is not the embedding?
 * Warns if they do.  Weights that cannot be read have none; reading them says
 * why. */
bool convert_has_own_head(const char *folder);
/* The object in a file of a folder; NULL with e filled. */
json_t *convert_json(const char *folder, const char *name, struct err *);

/* The name that a row's pattern stands for in a layer. */
void convert_name(char *out, size_t size, const char *pattern, int layer);
/* How many layers the pattern stands for: 1 without a %d. */
int convert_layers(const struct engine *, const char *pattern);
const struct graph_param *convert_param(const struct graph *, const char *ours,
                                        int layer);

/* The slice of a parameter in a row. */
struct convert_slice {
    int64_t rows, cols; /* cols 0: a vector */
    int64_t from;       /* first row in ours */
    bool transposed;    /* in the file */
    bool cropped;       /* the file may have more rows */
};
void convert_slice(const struct engine *, const struct convert_row *,
                   const struct graph_param *, struct convert_slice *);
int64_t convert_slice_count(const struct convert_slice *);
void convert_to_theirs(const struct convert_slice *, const float *ours,
                       float *theirs);
void convert_to_ours(const struct convert_slice *, float *ours,
                     const float *theirs);
