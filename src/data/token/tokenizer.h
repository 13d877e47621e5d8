#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"
#include "data/token/pretokenize.h"

/*
 * tokenizer - text to ids and back
 *
 * A tokenizer is byte-level BPE with one of the pre-tokenizers of
 * pretokenize.h, BPE over characters as SentencePiece's, or has one id for each
 * character.  gdata(1), TOKENIZERS, says which files and folders it is loaded
 * from.
 *
 *      if (tokenizer_load(&t, path, e) < 0)
 *          return -1;
 *      tokenizer_encode(t, text, n, 0, &ids);
 *      tokenizer_decode(t, ids.id, ids.n, &buf);
 *      ids_clear(&ids);
 *      tokenizer_free(t);
 *
 * A tokenizer does not change after it is loaded, so threads may share it.
 */
struct tokenizer;

int tokenizer_load(struct tokenizer **, const char *path, struct err *);
void tokenizer_free(struct tokenizer *);
int64_t tokenizer_vocab(const struct tokenizer *);    /* all ids are below */
int32_t tokenizer_eot(const struct tokenizer *);      /* or -1 */
const char *tokenizer_hash(const struct tokenizer *); /* 64 hex digits */

struct ids {
    int32_t *id;
    size_t n, room;
};

void ids_reserve(struct ids *, size_t more);
void ids_add(struct ids *, int32_t id);
void ids_clear(struct ids *);

enum {
    ENCODER_SPECIAL = 1,  /* recognise special tokens in the text */
    ENCODER_REPLACE = 2,  /* replace invalid UTF-8 by U+FFFD first */
    ENCODER_CONTINUE = 4, /* it continues a text: add no space before it */
};

/*
 * Append the ids of a text.  Without flags, special tokens in it are treated as
 * ordinary text, and bytes that are not UTF-8 as themselves.  Returns the
 * number of bytes (characters, for a character tokenizer) that had no id and
 * were left out.
 */
size_t tokenizer_encode(const struct tokenizer *, const char *text, size_t n,
                        int flags, struct ids *);

/* Append the bytes of ids, which need not be valid UTF-8.  Unknown ids are left
 * out.  For whole files a decoder is faster. */
void tokenizer_decode(const struct tokenizer *, const int32_t *ids, size_t n,
                      struct buf *);

/* Remove the space that encoding added before a text (bpe.h), if this
 * tokenizer does that.  The decoded text begins at out->s + from. */
void tokenizer_drop_space(const struct tokenizer *, struct buf *out,
                          size_t from);

/* Where a text may be divided without changing its ids (pretokenize.h). */
enum boundary_kind tokenizer_boundary(const struct tokenizer *);

/*
 * An encoder remembers the words it has met, which makes it many times faster:
 * in a cache (32 MiB) that all threads share, and in a table of its own (4 MiB)
 * those that do not fit there.  Each thread has its encoder.
 *
 *      cache = piece_cache_new();
 *      enc = encoder_new(t, cache, 0);
 *      while (more text)
 *          encoder_run(enc, text, n, &ids);
 *      encoder_free(enc);
 *      piece_cache_free(cache);
 *
 * Without a cache (NULL, as when there is no memory for one) an encoder
 * remembers nothing.
 */
struct piece_cache;

struct piece_cache *piece_cache_new(void);
void piece_cache_free(struct piece_cache *);

/* List the special tokens that an encoder with these flags recognises; returns
 * their number.  The caller frees the list. */
size_t tokenizer_specials(const struct tokenizer *, int flags,
                          struct boundary_word **);

struct encoder *encoder_new(const struct tokenizer *, struct piece_cache *,
                            int flags);
size_t encoder_run(struct encoder *, const char *text, size_t n, struct ids *);
void encoder_flags(struct encoder *, int flags); /* of later calls */
void encoder_free(struct encoder *);

/*
 * decoder - convert many ids back to bytes
 *
 *      d = decoder_new(t, tokenizer_eot(t));
 *      while (i < n) {
 *          i += decoder_run(d, ids + i, n - i, &buf);
 *          ... if i < n, the id there is end-of-text or unknown
 *      }
 *      decoder_free(d);
 *
 * decoder_run() appends the bytes of n ids of a shard (shard_copy()), and
 * returns their number.  It stops early before the id `stop` (-1: none) and
 * before ids that the tokenizer does not have.  A decoder does not change; it
 * has a copy of the tokens, 16 bytes for each, and a pointer to the tokenizer.
 */
struct decoder *decoder_new(const struct tokenizer *, int32_t stop);
int64_t decoder_run(const struct decoder *, const int32_t *ids, int64_t n,
                    struct buf *);
void decoder_free(struct decoder *);

/*
 * chat_template - a conversation as ids
 *
 *      if (chat_template_open(&c, tokenizer, "chatml", e) < 0)
 *          return -1;
 *      chat_template_message(&c, enc, "user", "Hello!", 6, 0, &ids);
 *      chat_template_head(&c, enc, "assistant", &ids);
 *      the model continues until the id c.end
 *      chat_template_clear(&c);
 *
 * Special tokens stand between messages.  They are never found within a
 * message: what looks like one there is encoded as ordinary text.
 *
 * A message is START ROLE HEAD after_head CONTENT END after_end, where the
 * names in capitals are special tokens, or empty.
 */
struct chat_words {
    const char *begin; /* a special token before the first message, or "" */
    const char *start, *head, *after_head, *end, *after_end;
    const char *assistant; /* its role */
    bool trims;            /* white space around the content is removed */
};

struct chat_template {
    const struct tokenizer *tokenizer;
    struct chat_words words;
    struct arena mem;                /* of the words, if they are from a file */
    int32_t begin, start, head, end; /* or -1 */
};

/* The name is chatml, llama3 or gemma, or that of a tokenizer_config.json whose
 * chat_template is a plain loop over messages, or the text of such a loop, in
 * which bos_token is the end-of-text token.  A missing special token is an
 * error. */
int chat_template_open(struct chat_template *, const struct tokenizer *,
                       const char *name, struct err *);
void chat_template_clear(struct chat_template *);
/* Open the first of the three that have a name whose special tokens the
 * tokenizer has, if any. */
bool chat_template_find(struct chat_template *, const struct tokenizer *);
/* In the language of Hugging Face's templates, on one line, which
 * chat_template_open() reads.  The caller frees it. */
char *chat_template_jinja(const struct chat_template *);

/* What is before the first message. */
void chat_template_begin(const struct chat_template *, int32_t mark,
                         struct ids *);
/* Append what is before the content of a message.  These functions return the
 * number of characters without an id. */
size_t chat_template_head(const struct chat_template *, struct encoder *,
                          const char *role, struct ids *);
/* And what is after it. */
size_t chat_template_tail(const struct chat_template *, struct encoder *,
                          struct ids *);
/* Append a message, with `mark` set in the ids that an assistant does not
 * write. */
size_t chat_template_message(const struct chat_template *, struct encoder *,
                             const char *role, const char *text, size_t n,
                             int32_t mark, struct ids *);
