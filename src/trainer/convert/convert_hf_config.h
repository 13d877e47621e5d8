#pragma once

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * convert_hf_config - readers of keys of config.json of Hugging Face models
 *
 * The readers add settings as lines, such as model.layers=12, to a buffer, and
 * name the key of what they refuse.
 */
struct settings;

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
