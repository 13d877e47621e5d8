#pragma once

#include <jansson.h>

#include "trainer/engine/engine.h"

/*
 * convert - models in the files of other programs
 *
 * A family is a table: our module, its names in the formats, and the slice of
 * ours that theirs holds (all, transposed, or the rows of q, k, v, gate or up).
 * Writing and reading use the same table.
 *
 * gtrain(1), export and import, describes the formats.
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

/* A module: its weight, and its bias if it has one. */
struct convert_row {
    const char *ours, *hf, *gguf; /* %d is the layer */
    enum convert_slice_kind slice;
};

struct convert_family {
    const char *type, *architecture; /* as in config.json */
    const char *prefix;              /* of all names of hf but the head's */
    const struct convert_row *rows;  /* ends with a NULL */
    bool biases; /* all but embeddings and the head must have one in hf */
};

/* The family of the model; NULL with e filled if it belongs to none. */
const struct convert_family *convert_family(const struct settings *,
                                            struct err *);

/* Does the model have all biases that one like GPT-2 can have? */
bool convert_has_biases(const struct settings *);

/* In the order of gtrain export --format. */
enum convert_format {
    CONVERT_HF,
    CONVERT_LLMC,
    CONVERT_LLMC_BF16,
    CONVERT_GGUF,
    CONVERT_GGUF_F16,
    CONVERT_GGUF_Q8_0,
    CONVERT_GGUF_Q4_0
};
typedef int convert_write_fn(const struct engine *, const float *weights,
                             enum convert_format, const char *path,
                             struct err *);
/* Append the settings of a model, one "key=value" a line. */
typedef int convert_settings_fn(const char *path, struct buf *out,
                                struct err *);
typedef int convert_read_fn(const struct engine *, float *weights,
                            const char *path, struct err *);

convert_write_fn convert_write_hf, convert_write_llmc, convert_write_gguf;
/* Fails if the format cannot represent the model; that of hf always can. */
int convert_check_llmc(const struct settings *, struct err *);
int convert_check_gguf(const struct settings *, struct err *);
convert_settings_fn convert_settings_hf, convert_settings_llmc;
convert_read_fn convert_read_hf, convert_read_llmc;

/* ---- for the formats -------------------------------------------------- */

extern const char convert_own_model[]; /* python/modeling_gtrain.py */
/* Write config.json and the tokenizer of hf; for a model of no family, NULL. */
int convert_describe_hf(const struct engine *, const struct convert_family *,
                        const char *folder, struct err *);
/* Do the weights of hf in a folder have a head that is not the embedding?
 * Warns if they do.  Weights that cannot be read have none; reading them says
 * why. */
bool convert_has_own_head(const char *folder);
/* The object in a file of a folder; NULL with e filled. */
json_t *convert_json(const char *folder, const char *name, struct err *);

/* A slice of a parameter. */
struct convert_slice {
    enum convert_slice_kind kind;
    int64_t rows, cols; /* cols 0: a vector */
    int64_t from;       /* first row in ours */
    bool transposed;    /* in hf */
    bool cropped;       /* the file may have more rows */
};
int64_t convert_slice_count(const struct convert_slice *);
void convert_to_theirs(const struct convert_slice *, const float *ours,
                       float *theirs);
void convert_to_ours(const struct convert_slice *, float *ours,
                     const float *theirs);

struct convert_tensor {
    char ours[64], hf[128], gguf[64]; /* names */
    const struct graph_param *param;  /* NULL: a bias that is 0 in the model */
    struct convert_slice slice;
};
typedef int convert_tensor_fn(void *arg, const struct convert_tensor *,
                              struct err *);
/* Call fn for each tensor of a model, each kind for all layers, until it
 * fails.  Those of a model of no family have our names in hf. */
int convert_walk(const struct engine *, const struct convert_family *,
                 convert_tensor_fn *, void *arg, struct err *);

/*
 * convert_hf_config - readers of keys of config.json of Hugging Face models
 *
 * The readers add settings as lines, such as model.layers=12, to a buffer, and
 * name the key of what they refuse.
 */
/* A key of config.json, and the setting that it is.  `otherwise` is what
 * transformers has if it is missing, "" for our default, or NULL if it must not
 * be missing; the alias is another name that transformers reads.  `is` is the
 * place in struct settings of what follows from the setting, or 0. */
struct hf_key {
    const char *theirs, *ours, *otherwise, *alias;
    size_t is;
};

/* Is the key there, and not null? */
bool hf_config_has(const json_t *o, const char *key);
int hf_config_reject(struct err *, const json_t *o, const char *key,
                     const char *why);
int hf_config_read(const json_t *o, const struct hf_key *, struct buf *out,
                   struct err *);

/* The rotary angles (convert_hf.c): their base, their scaling, and the layers
 * without them.  If the file does not name these, they are those with the
 * multiple `nope`, or none if it is 0. */
void hf_rope_describe(json_t *o, const struct settings *);
int hf_rope_read(const json_t *o, int nope, struct buf *out, struct err *);
