#pragma once

#include <stdbool.h>

#include "common/buf.h"

/*
 * http_gzip - a shorter body for a client that can read it
 *
 *      if (http_gzip_is_wanted(accept_encoding) && http_gzip(&body))
 *          ... Content-Encoding: gzip ...
 *
 * A figure of many curves is a text of digits, which becomes a third as long.
 */
/* Does the header Accept-Encoding, or NULL, have gzip? */
bool http_gzip_is_wanted(const char *accepted);
/* Replace a body by the compressed one; false if it stays as it was, because it
 * is short or there is no memory. */
bool http_gzip(struct buf *);
