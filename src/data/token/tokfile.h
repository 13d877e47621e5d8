#ifndef DATA_TOKEN_TOKFILE_H
#define DATA_TOKEN_TOKFILE_H

#include "data/token/bpe.h"

/*
 * tokfile - the files that hold tokenizers
 *
 *      tokenizer.json              Hugging Face's: vocabulary, merges, special
 *                                  tokens, pre-tokenizer
 *      vocab.bpe, merges.txt       merges in order of rank; ids as GPT-2 gives
 *                                  them unless encoder.json or vocab.json is
 *                                  in the same folder
 *      NAME.tiktoken               tokens in Base64 and their ranks
 *      meta.pkl                    nanoGPT's characters
 *
 * Readers check everything they use; writers leave a file whole or not at all.
 */

/*
 * Read a text in memory into a new tokenizer (tokenizer_load() is for paths).
 * _vocab() is for an object of names and ids (encoder.json, vocab.json);
 * _merges() gives GPT-2's ids if the tokenizer has no tokens yet.
 */
int tokfile_parse_json(struct tokenizer *, const char *text, size_t n,
                       struct err *);
int tokfile_parse_vocab(struct tokenizer *, const char *text, size_t n,
                        struct err *);
int tokfile_parse_merges(struct tokenizer *, const char *text, size_t n,
                         struct err *);
int tokfile_parse_tiktoken(struct tokenizer *, const char *text, size_t n,
                           struct err *);
int tokfile_parse_pickle(struct tokenizer *, const char *text, size_t n,
                         struct err *);

/*
 * Write into a folder that is there: of BPE tokenizer.json, merges.txt and
 * vocab.json; of characters meta.pkl.  Or one kind: "hf" (tokenizer.json),
 * "merges" (merges.txt, vocab.json), "gpt2" (the same as vocab.bpe and
 * encoder.json), "tiktoken" (tokenizer.tiktoken), "llmc" (gpt2_tokenizer.bin,
 * from which llm.c decodes), "nanogpt" (meta.pkl).
 */
int tokfile_write_folder(const struct tokenizer *, const char *folder,
                         struct err *);
int tokfile_write(const struct tokenizer *, const char *folder,
                  const char *kind, struct err *);

/* The content of a .tiktoken, and the split that its readers take it for. */
enum split tokfile_tiktoken_split(const struct tokenizer *);
int tokfile_add_tiktoken(struct buf *, const struct tokenizer *, struct err *);

/*
 * A name in the alphabet of GPT-2's files to bytes.  Returns how many, at most
 * n, or -1 when a character stands for no byte.
 */
ptrdiff_t tokfile_bytes(const char *name, size_t n, uint8_t *out);

#endif
