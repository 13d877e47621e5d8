#ifndef DATA_TOKEN_NFC_IMPL_H
#define DATA_TOKEN_NFC_IMPL_H

#include <stdint.h>

/*
 * nfc_impl - the tables that scripts/nfc makes for nfc.c
 *
 * A row is three numbers; the first is a character, as the difference from that
 * of the row before.
 */
enum { NFC_PAIRS = 940, NFC_OTHERS = 1120, NFC_CLASSES = 333 };

/* Characters and the two that are composed into them. */
extern const uint32_t nfc_pairs[3 * NFC_PAIRS];
/* Characters whose decomposition, one or two characters, stays as it is; the
 * third number is 0 if there is only one. */
extern const uint32_t nfc_others[3 * NFC_OTHERS];
/* Runs of characters with one canonical combining class: the first, their
 * number, the class. */
extern const uint32_t nfc_classes[3 * NFC_CLASSES];

#endif
