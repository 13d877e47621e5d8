#pragma once

#include "common/buf.h"

/*
 * delta - an answer as what differs from the answer before it
 *
 *      {"delta":[[0,12],"{\"id\":\"...\"}",[14,300]]}
 *
 * Both texts are cut before each { and [.  A pair of numbers stands for as many
 * pieces of the old text, from the first one on; a string is new text.  The
 * page puts them together again (api.js).
 */
void delta_shorten(struct buf *answer, const struct buf *old);
