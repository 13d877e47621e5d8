#ifndef DATA_CORPUS_SOURCE_SOURCE_URL_H
#define DATA_CORPUS_SOURCE_SOURCE_URL_H

#include "common/err.h"
#include "common/http.h"

/*
 * source_url - read a URL through a pipe
 *
 *      fd = source_url_open(&u, url, conf, e);
 *      ... read fd to its end ...
 *      if (source_url_end(u, e) < 0)
 *          the end came too early
 *      close(fd);
 *      source_url_close(u);
 *
 * A thread downloads the file with download_pipe(), so a broken connection is
 * not seen here unless all tries fail.  source_url_close() stops the download.
 */
struct source_url;

int source_url_open(struct source_url **, const char *url,
                    const struct http_conf *, struct err *);
int source_url_end(struct source_url *, struct err *);
void source_url_close(struct source_url *); /* NULL is fine */

#endif
