#pragma once

#include <stdbool.h>
#include <stddef.h>

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
