#ifndef DATA_TOKEN_TOKENIZER_H
#define DATA_TOKEN_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * tokenizer - text to ids and back
 *
 * Byte-level BPE with one of the pre-tokenizers of pretokenize.h, or one id a
 * character.  Loaded from tokenizer.json, vocab.bpe (with encoder.json beside
 * it or without), merges.txt and vocab.json, .tiktoken, meta.pkl, or a folder
 * that holds one of them, the first of these that is there.
 *
 *      if (tokenizer_load(&t, path, e) < 0)
 *          return -1;
 *      tokenizer_encode(t, text, n, &ids);
 *      tokenizer_decode(t, ids.id, ids.n, &buf);
 *      ids_clear(&ids);
 *      tokenizer_free(t);
 *
 * A tokenizer does not change once it is loaded; threads may share it.
 */
struct tokenizer;

int tokenizer_load(struct tokenizer **, const char *path, struct err *);
void tokenizer_free(struct tokenizer *);
int64_t tokenizer_vocab(const struct tokenizer *);    /* ids are below */
int32_t tokenizer_eot(const struct tokenizer *);      /* or -1 */
const char *tokenizer_hash(const struct tokenizer *); /* 64 hex digits */

struct ids {
    int32_t *id;
    size_t n, room;
};

#define IDS_INIT                                                               \
 {                                                                             \
  NULL, 0, 0                                                                   \
 }

void ids_room(struct ids *, size_t more);
void ids_clear(struct ids *);

/*
 * Append the ids of text, in which special tokens are text like any other, and
 * bytes that are not UTF-8 are themselves.  Returns how many characters (of a
 * character tokenizer; else bytes) had no id and were left out.
 */
size_t tokenizer_encode(const struct tokenizer *, const char *text, size_t n,
                        struct ids *);

/* Append the bytes of ids, also of broken UTF-8; of what is no id, nothing.
 * For whole files decoder.h is faster. */
void tokenizer_decode(const struct tokenizer *, const int32_t *ids, size_t n,
                      struct buf *);

/*
 * An encoder remembers the words that it met, which makes it many times faster:
 * in a lexicon (16 MiB), which all threads share, and what that has no place
 * for by itself (11 MiB).  There is an encoder for each thread.
 *
 *      lexicon = lexicon_new(t);
 *      enc = encoder_new(t, lexicon, 0);
 *      while (more text)
 *          encoder_run(enc, text, n, &ids);
 *      encoder_free(enc);
 *      lexicon_free(lexicon);
 *
 * Without a lexicon (NULL) an encoder remembers nothing.
 */
struct lexicon;

struct lexicon *lexicon_new(const struct tokenizer *); /* or NULL: no memory */
void lexicon_free(struct lexicon *);

enum {
    ENCODER_SPECIAL = 1, /* special tokens in the text are recognised */
    ENCODER_REPLACE = 2, /* what is not UTF-8 becomes U+FFFD first */
};

/* Would a text that ends at text + at end within a token that an encoder of
 * these flags recognises? */
bool tokenizer_divides(const struct tokenizer *, int flags, const char *text,
                       size_t n, size_t at);

struct encoder *encoder_new(const struct tokenizer *, struct lexicon *,
                            int flags);
size_t encoder_run(struct encoder *, const char *text, size_t n, struct ids *);
void encoder_flags(struct encoder *, int flags); /* from now on */
void encoder_free(struct encoder *);

#endif
