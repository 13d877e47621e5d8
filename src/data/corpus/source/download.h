#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "common/http/http.h"

/*
 * download - read a file of a server, or of a local mirror
 *
 *      struct http_call call = { .url = url, .sink = sink, .arg = arg };
 *
 *      if (download_call(http, &call, &reply, e) < 0)
 *          the rest is missing
 *
 * A URL is read as by http_do(), and with $HF_TOKEN if the host may have it;
 * hf://datasets/OWNER/NAME/PATH is that of a file on Hugging Face; any other
 * name is that of a file.
 */

/* Names are looked up less often than servers are tried, so that a download
 * without a network fails early. */
enum { DOWNLOAD_NAME_TRIES = 2 };

/* The options of commands that read URLs; `o` is a struct http_conf. */
/* clang-format off */
#define DOWNLOAD_OPTS(o) \
    { 0, "tries", "count", OPT_INT, &(o).tries, \
      "give up a URL after COUNT tries without any data (default: 6)" }, \
    { 0, "wait", "time", OPT_SECS, &(o).wait, \
      "wait TIME after the first try, then twice as long (default: 1s)" }, \
    { 0, "stall", "time", OPT_SECS, &(o).stall, \
      "end a try when no data arrives for TIME (default: 60s)" }
/* clang-format on */

bool download_is_url(const char *path);
bool download_any(char *const *path, int n);
int download_call(struct http *, const struct http_call *, struct http_reply *,
                  struct err *);
