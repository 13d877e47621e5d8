#ifndef DATA_TOKENIZER_H
#define DATA_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * tokenizer - text to ids and back
 *
 * Byte-level BPE with GPT-2's or cl100k's pre-tokenizer, or one id a
 * character.  Loaded from tokenizer.json, vocab.bpe, merges.txt, .tiktoken,
 * meta.pkl, or a folder that holds one of them.
 */
struct tokenizer;

int tokenizer_load(struct tokenizer **, const char *path, struct err *);
void tokenizer_free(struct tokenizer *);
int64_t tokenizer_vocab(const struct tokenizer *);      /* ids are below */
int32_t tokenizer_eot(const struct tokenizer *);        /* or -1 */
const char *tokenizer_hash(const struct tokenizer *);   /* 64 hex digits */

struct ids {
    int32_t *id;
    size_t n, room;
};

#define IDS_INIT { NULL, 0, 0 }

/* Append the ids of text; the bytes of ids, also of broken UTF-8. */
void tokenizer_encode(const struct tokenizer *, const char *text, size_t n,
                      struct ids *);
void tokenizer_decode(const struct tokenizer *, const int32_t *ids, size_t n,
                      struct buf *);

#endif
