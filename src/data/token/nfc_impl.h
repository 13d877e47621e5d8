#pragma once

#include <stdint.h>

/*
 * nfc_impl - the tables of nfc.c
 *
 * The build makes them of scripts/nfc.txt with scripts/nfc.
 */
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
