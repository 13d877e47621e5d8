#pragma once

#include <stdio.h>

#include "trainer/convert/convert.h"

/*
 * convert_gguf_impl - the head of a GGUF file: keys and values
 *
 *      gguf_add_u32_key(&h, ".block_count", 12);
 *      gguf_add_array_key(&h, "tokenizer.ggml.tokens", GGUF_STRING, n);
 *      gguf_add_text(&h.keys, token);                      n times
 *
 * Numbers are little-endian.  A name that begins with a dot follows the type of
 * the model.
 */
enum gguf_type {
    GGUF_U32 = 4,
    GGUF_I32 = 5,
    GGUF_F32 = 6,
    GGUF_BOOL = 7,
    GGUF_STRING = 8,
    GGUF_ARRAY = 9
};

struct gguf_head {
    struct buf keys;
    uint64_t n;
    const char *type; /* of the model, before its keys */
};

void gguf_add_number(struct buf *, uint64_t n, int bytes);
void gguf_add_f32(struct buf *, double);
void gguf_add_text(struct buf *, const char *);
void gguf_add_u32_key(struct gguf_head *, const char *name, int64_t);
void gguf_add_f32_key(struct gguf_head *, const char *name, double);
void gguf_add_bool_key(struct gguf_head *, const char *name, bool);
void gguf_add_text_key(struct gguf_head *, const char *name, const char *);
/* The n values follow. */
void gguf_add_array_key(struct gguf_head *, const char *name, enum gguf_type,
                        size_t n);

/*
 * Add the keys of the tokenizer, with unused tokens up to `vocab`.  Fails if
 * llama.cpp would give other ids.
 */
int gguf_add_tokenizer(struct gguf_head *, const struct tokenizer *,
                       int64_t vocab, struct err *);

/*
 * The types of numbers: fp32 and fp16, or integers of 8 and 4 bits, 32 of which
 * share a scale in fp16.
 */
enum gguf_numbers {
    GGUF_NUMBERS_F32,
    GGUF_NUMBERS_F16,
    GGUF_NUMBERS_Q8_0,
    GGUF_NUMBERS_Q4_0
};

extern const struct gguf_numbers_type {
    int id;           /* by which GGUF knows the type of a tensor */
    int block, bytes; /* numbers and bytes of a block */
    int file_type;    /* of a file of such tensors */
} gguf_numbers_types[];
/* Can rows of `cols` numbers have this type? */
bool gguf_numbers_fit(enum gguf_numbers, int64_t cols);
size_t gguf_numbers_bytes(enum gguf_numbers, int64_t n);
void gguf_numbers_write(enum gguf_numbers, const float *x, int64_t n, FILE *);
