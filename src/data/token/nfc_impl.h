#ifndef DATA_TOKEN_NFC_IMPL_H
#define DATA_TOKEN_NFC_IMPL_H

#include <stddef.h>
#include <stdint.h>

/*
 * nfc_impl - the tables that scripts/nfc makes for nfc.c, each in order
 */

/* The whole canonical decomposition of a character, ended by 0. */
struct nfc_decomposed {
    uint32_t c, to[4];
};

/* Two characters that are composed into one. */
struct nfc_pair {
    uint32_t a, b, c;
};

/* Characters with this canonical combining class, if it is not 0; or characters
 * that normalization may change or compose with the one before them. */
struct nfc_range {
    uint32_t first, last, value;
};

extern const struct nfc_decomposed nfc_decomposed[];
extern const struct nfc_pair nfc_pair[];
extern const struct nfc_range nfc_class[], nfc_unsafe[];
extern const size_t nfc_decomposed_n, nfc_pair_n, nfc_class_n, nfc_unsafe_n;

#endif
