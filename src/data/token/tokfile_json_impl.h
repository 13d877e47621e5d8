#pragma once

#include <jansson.h>

#include "common/format/json_scan.h"
#include "data/token/tokfile.h"

/*
 * tokfile_json_impl - the parts of the reader of tokenizer.json
 *
 * A file is rejected if Hugging Face's tokenizers would produce other ids.
 * jansson reads the description of the tokenizer, and json_scan the many names
 * of vocab and merges: gdata with GPT-2's tokenizer.json starts in 0.04 s this
 * way, and in 0.16 s with jansson alone.
 */
struct json_reader {
    struct tokenizer *t;
    struct json_scan vocab, merges; /* of a copy of the text */
    struct buf bytes;    /* of a token, or of the two tokens of a merge */
    const json_t *added; /* the added tokens, or NULL */
    json_t *odd;         /* names that stand for no bytes, and their ids */
    size_t n_vocab;
    bool have_digits, have_pattern, have_bytes; /* pre-tokenizers */
    bool prepends, replaces;                    /* normalizers */
    bool byte_fallback;
};

/* The parts, in this order: the normalizer and the pre-tokenizer of the object
 * `o` of the file; its model; the added tokens. */
int json_reader_rules(struct json_reader *, const json_t *o, struct err *);
int json_reader_model(struct json_reader *, const json_t *model, struct err *);
int json_reader_added(struct json_reader *, struct err *);

/* Say that `what` is not supported; returns -1. */
int json_reader_refuse(struct err *, const char *what);

/* Refuse an object in which a key has a value but null, false or "". */
int json_reader_refuse_key(const json_t *o, const char *key, struct err *);

/* Is the value this string? */
bool json_reader_is(const json_t *, const char *text);

/* Append the bytes that a name stands for: in GPT-2's alphabet, or with spaces
 * for U+2581.  Returns their number, or -1. */
ptrdiff_t json_reader_add_bytes(struct json_reader *, const char *name,
                                size_t n);
