#pragma once

#include "trainer/convert/convert.h"

/*
 * convert_gguf_impl - the head of a GGUF file: keys and values
 *
 *      gguf_add_u32_key(&h, ".block_count", 12);
 *      gguf_add_tokenizer(&h, tokenizer, vocab, e);
 *
 * Numbers are little-endian.  A name that begins with a dot follows the type of
 * the model.
 */
struct gguf_head {
    struct buf keys;
    uint64_t n;
    const char *type; /* of the model, before its keys */
};

void gguf_add_number(struct buf *, uint64_t n, int bytes);
void gguf_add_text(struct buf *, const char *);
void gguf_add_u32_key(struct gguf_head *, const char *name, int64_t);
void gguf_add_f32_key(struct gguf_head *, const char *name, double);
void gguf_add_text_key(struct gguf_head *, const char *name, const char *);

/*
 * Add the keys of the tokenizer, with unused tokens up to `vocab`.  Fails if
 * llama.cpp would give other ids.
 */
int gguf_add_tokenizer(struct gguf_head *, const struct tokenizer *,
                       int64_t vocab, struct err *);
