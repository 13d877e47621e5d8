#pragma once

#include "data/token/bpe.h"

/*
 * tokfile - read and write the files of tokenizers
 *
 * gdata(1), TOKENIZERS, describes them.
 *
 * Readers check everything they use.  Writers replace a file as a whole.
 */

/*
 * tokenizer_load() with the pre-tokenizer of a file that does not name one;
 * PRETOKENIZE_ALL: what the name and the content of the file suggest.
 */
int tokfile_load(struct tokenizer **, const char *path, enum pretokenizer,
                 struct err *);

/*
 * Read a text in memory into a new tokenizer; for paths there is
 * tokfile_load().  _vocab() reads an object of names and ids (encoder.json,
 * vocab.json); _merges() assigns GPT-2's ids if the tokenizer has no tokens
 * yet.
 */
typedef int tokfile_parse_fn(struct tokenizer *, const char *text, size_t n,
                             struct err *);

tokfile_parse_fn tokfile_parse_json, tokfile_parse_vocab, tokfile_parse_merges,
    tokfile_parse_tiktoken, tokfile_parse_model, tokfile_parse_pickle;

/*
 * Write into an existing folder the files that gdata bpe writes, or one form of
 * gdata vocab --write, such as "hf".
 */
int tokfile_write_folder(const struct tokenizer *, const char *folder,
                         struct err *);
int tokfile_write(const struct tokenizer *, const char *folder,
                  const char *form, struct err *);

/* The content of a .tiktoken file, and the pre-tokenizer that its readers will
 * assume, or -1. */
int tokfile_tiktoken_pretokenizer(const struct tokenizer *);
int tokfile_add_tiktoken(struct buf *, const struct tokenizer *, struct err *);

/*
 * Convert a name in the alphabet of GPT-2's files to bytes.  Returns their
 * number, at most n, or -1 if a character stands for no byte.
 */
ptrdiff_t tokfile_bytes(const char *name, size_t n, uint8_t *out);

/* Append the name of a token in these files, in UTF-8: its bytes in GPT-2's
 * alphabet, or as SentencePiece has them. */
void tokfile_add_name(struct buf *, const struct tokenizer *, int32_t id);
