#pragma once

#include "common/buf.h"

/*
 * libraries - what is loaded into this process
 *
 *      libraries_list(&b);     "glibc-2.36 libm.so.6 libgomp.so.1.0.0"
 */
void libraries_list(struct buf *out);
