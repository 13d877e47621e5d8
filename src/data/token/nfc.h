#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * nfc - Unicode's normalization form C
 *
 *      if (nfc_may_change(text, n))
 *          nfc_add(&buf, text, n);
 *
 * The tokenizers of Qwen, GPT-NeoX and others compose characters first: e and a
 * combining acute accent become the one character é.  Most text is in this form
 * already, which nfc_may_change() finds out quickly; it may be wrong in saying
 * yes.  Bytes that are not UTF-8 stay as they are.  The characters are those of
 * Unicode 9.0, as in Hugging Face's tokenizers.
 */
bool nfc_may_change(const char *text, size_t n);
void nfc_add(struct buf *, const char *text, size_t n);

/* The tables of nfc.c, which the build makes of scripts/nfc.txt. */
enum { NFC_DECOMPOSED = 2060, NFC_COMPOSED = 940, NFC_CLASSES = 333 };

struct nfc_row {
    uint32_t c, a, b;
};

/* c becomes a and b, or a alone if b is 0; in order of c. */
extern const struct nfc_row nfc_decomposed[NFC_DECOMPOSED];
/* a and b become c; in order of a and b. */
extern const struct nfc_row nfc_composed[NFC_COMPOSED];
/* The a characters from c on have the canonical combining class b. */
extern const struct nfc_row nfc_classes[NFC_CLASSES];
