#pragma once

#include "trainer/convert/convert_hf_config.h"

/*
 * convert_hf_rope - the rotary angles in config.json of a Hugging Face model:
 *                   their base, their scaling, and the layers without them
 *
 * Without a word about such layers, they are those with the multiple `nope`, or
 * none if it is 0.
 */
struct settings;

void hf_rope_describe(json_t *o, const struct settings *);
int hf_rope_read(const json_t *o, int nope, struct buf *out, struct err *);
