#pragma once

#include <stddef.h>

#include "common/buf.h"

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
