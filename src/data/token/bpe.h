#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/sha256.h"
#include "data/token/pretokenize.h"
#include "data/token/tokenizer.h"

/*
 * bpe - the inside of a tokenizer, and how one is built
 *
 * The readers of tokenizer files and the BPE trainer build one, and encoder.c
 * uses it; all other code uses tokenizer.h.
 *
 *      t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
 *      if (tokenizer_add(t, id, bytes, n, e) < 0 ||        each token
 *          tokenizer_merge(t, left, right, into, e) < 0 || by rank
 *          tokenizer_ready(t, e) < 0)
 *          ... tokenizer_free(t);
 *
 * A merge replaces the pair of ids (left, right) by the id `into`; its index is
 * its rank.  In each piece the pair of the lowest rank is merged first, and of
 * equal pairs the leftmost, until no pair has a rank.
 */
enum tokenizer_kind {
    TOKENIZER_BPE,          /* merges bytes */
    TOKENIZER_CHARS,        /* has an id for each character */
    TOKENIZER_SENTENCEPIECE /* merges characters; see below */
};

/* Where TOKENIZER_SENTENCEPIECE encodes a space before the text. */
enum tokenizer_prefix {
    PREFIX_NONE,
    PREFIX_ALWAYS,       /* at the beginning and after every added token */
    PREFIX_UNLESS_SPACE, /* as PREFIX_ALWAYS, but not before a space */
    PREFIX_FIRST         /* at the beginning, but not before a space */
};

/* Limits, so that a pair of ids and a rank fit into 64 bits. */
enum {
    TOKENIZER_MAX_ID = (1 << 21) - 2,
    TOKENIZER_MAX_MERGES = 1 << 22,
    TOKENIZER_MAX_LEN = 1 << 16, /* bytes of a token */
};

#define NO_RANK UINT32_MAX

struct token {
    uint32_t at, len; /* in tokenizer.text; len 0: no such id */
};

struct merge {
    int32_t left, right, into;
};

/* How a special token is found. */
enum {
    SPECIAL_ALWAYS = 1,     /* also if the caller asks for no special tokens */
    SPECIAL_LSTRIP = 2,     /* it takes the white space before it */
    SPECIAL_RSTRIP = 4,     /* it takes the white space after it */
    SPECIAL_WORD = 8,       /* only if it is not a part of a word */
    SPECIAL_NORMALIZED = 16 /* in normalized text */
};

/* A token that is taken out of the text before pre-tokenization (encoder.c). */
struct special {
    int32_t id;
    int flags;
    struct token name;  /* as in the file */
    struct token match; /* the text to look for, normalized if the text is */
};

/* A slot of the hash table of tokens; id -1: free.  The tag is the part of the
 * hash that selects the slot. */
struct token_slot {
    uint32_t tag;
    int32_t id;
};

struct tokenizer {
    enum tokenizer_kind kind;
    enum pretokenizer pretokenizer;
    bool nfc;          /* text is normalized first */
    bool metaspace;    /* its spaces are replaced by the pre-tokenizer */
    bool fuse_unknown; /* neighbouring unknown characters become one */
    enum tokenizer_prefix prefix;
    int32_t unknown;     /* what unknown characters become, or -1 */
    bool whole;          /* a piece that is a token is not merged */
    bool joined;         /* pairs are found by the bytes they make */
    bool ordered;        /* merges use only tokens of lower ranks */
    bool bytes_missing;  /* some bytes have no id */
    int32_t n_ids;       /* all ids are below this */
    struct token *token; /* by id */
    size_t token_room;
    uint8_t *text; /* the bytes of all tokens */
    size_t n_text, text_room;
    uint32_t longest;
    struct token_slot *slot;   /* hash table: bytes -> id */
    size_t n_slots, slot_room; /* used; in all, a power of two */
    struct merge *merge;
    size_t n_merges, merge_room;
    int64_t base; /* merge i makes id base + i; or -1 */
    struct special *special;
    size_t n_specials, special_room;
    int32_t eot;
    int32_t byte_id[256]; /* or -1; of TOKENIZER_SENTENCEPIECE, the ids of
                           * the bytes of unknown characters */
    uint32_t *byte_rank;  /* of the pair of bytes (a, b): [a << 8 | b] */
    uint64_t *pair;       /* hash table: left, right -> rank */
    uint64_t *filter;     /* a bit for each known pair, by hash */
    size_t pair_room;
    char hash[SHA256_TEXT];
};

struct tokenizer *tokenizer_new(enum tokenizer_kind, enum pretokenizer);
int tokenizer_add(struct tokenizer *, int64_t id, const void *bytes, size_t n,
                  struct err *);
int tokenizer_merge(struct tokenizer *, int32_t left, int32_t right,
                    int32_t into, struct err *);
/* Adds a token that pre-tokenization never sees, with flags SPECIAL_...; an
 * ordinary token may have the same bytes. */
int tokenizer_special(struct tokenizer *, int64_t id, int flags,
                      const void *name, size_t n, struct err *);
/* Adds the token that a byte of an unknown character becomes. */
int tokenizer_byte(struct tokenizer *, int64_t id, uint8_t byte, struct err *);
int tokenizer_ready(struct tokenizer *, struct err *);

/* For tokenizer_ready(): tables to find merges and bytes, and the hash. */
void tokenizer_index_merges(struct tokenizer *);
void tokenizer_make_hash(struct tokenizer *);

/* The id of these bytes, special tokens aside, or -1. */
int32_t tokenizer_find(const struct tokenizer *, const void *bytes, size_t n);

/* The first special token with this id, or NULL. */
const struct special *tokenizer_find_special(const struct tokenizer *,
                                             int64_t id);
/* The id of the first special token with this name, or -1. */
int32_t tokenizer_special_id(const struct tokenizer *, const char *name);

static inline uint64_t bpe_pair_hash(uint32_t left, uint32_t right)
{
    return ((uint64_t)left << 21 | right) * 0x9E3779B97F4A7C15;
}

/* Most pairs that are looked up have no rank.  This filter of 64 KiB, which
 * stays in the cache, recognises most of them. */
enum { FILTER_BITS = 19 };

/* The rank of a pair of ids, or NO_RANK. */
static inline uint32_t bpe_rank(const struct tokenizer *t, uint32_t left,
                                uint32_t right)
{
    const uint64_t key = (uint64_t)left << 21 | right;
    const uint64_t hash = bpe_pair_hash(left, right);
    const size_t bit = (size_t)(hash >> (64 - FILTER_BITS));
    const size_t mask = t->pair_room - 1;
    size_t i = (size_t)(hash >> 32) & mask;

    if (!(t->filter[bit / 64] >> bit % 64 & 1))
        return NO_RANK;
    while (t->pair[i] >> 22 != key) {
        if (t->pair[i] == UINT64_MAX)
            return NO_RANK;
        i = (i + 1) & mask;
    }
    return (uint32_t)t->pair[i] & ((1 << 22) - 1);
}

/*
 * Store the ids of one piece of any length; returns their number, at most n.
 * Takes time linear in n.  Bytes without an id are left out.
 */
size_t bpe_piece(const struct tokenizer *, const uint8_t *piece, size_t n,
                 int32_t *out);

/* The bytes of a token. */
static inline const uint8_t *token_text(const struct tokenizer *t, int32_t id)
{
    return t->text + t->token[id].at;
}

/* GPT-2's names of bytes: the code point that stands for a byte, and back (-1
 * if it stands for none). */
uint32_t bpe_byte_char(uint8_t byte);
int bpe_char_byte(uint32_t c);

/* Give the 256 bytes GPT-2's ids: the order of the characters that stand for
 * them. */
int bpe_add_bytes(struct tokenizer *, struct err *);

/*
 * sentencepiece - what is particular to the tokenizers of SentencePiece
 *
 * Llama 2, Mistral, TinyLlama and Gemma merge characters instead of bytes.  A
 * character without a token becomes the tokens of its bytes, or the unknown
 * token.  Their files write a space as "▁" (U+2581) and encode that character
 * as a space; here tokens have the space itself, so decoding joins their bytes.
 * Most of these tokenizers encode a space before the text, which
 * tokenizer_drop_space() removes from decoded text.
 */
#define SENTENCEPIECE_SPACE "\xE2\x96\x81"

/* Append text with spaces in place of U+2581, or with U+2581 in place of
 * spaces. */
void sentencepiece_add_spaces(struct buf *, const void *text, size_t n);
void sentencepiece_add_marks(struct buf *, const void *text, size_t n);

/* The byte of a name like <0x0A>, or -1. */
int sentencepiece_byte(const char *name, size_t n);
