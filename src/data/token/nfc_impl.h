#ifndef DATA_TOKEN_NFC_IMPL_H
#define DATA_TOKEN_NFC_IMPL_H

#include <stdint.h>

/*
 * nfc_impl - the tables that scripts/nfc makes for nfc.c
 *
 * The first three have runs of adjacent characters: the first one, as the
 * difference from the last of the run before; their number; and what each is
 * decomposed into, one or two characters.
 */
enum {
    NFC_PAIRS = 940,
    NFC_STABLE_PAIRS = 85,
    NFC_SINGLES = 1035,
    NFC_CLASSES = 333
};

extern const uint32_t nfc_pairs[];        /* composed again */
extern const uint32_t nfc_stable_pairs[]; /* not composed again */
extern const uint32_t nfc_singles[];
/* Rows of characters with one canonical combining class: the first, as the
 * difference from that of the row before; their number; the class. */
extern const uint32_t nfc_classes[];

#endif
