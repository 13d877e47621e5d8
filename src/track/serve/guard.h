#ifndef TRACK_SERVE_GUARD_H
#define TRACK_SERVE_GUARD_H

#include <stdbool.h>

#include "common/err.h"
#include "common/opt.h"

/*
 * guard - who may ask the server
 *
 * A browser sends requests to 127.0.0.1 for any page that it shows.  So each
 * request must name this server as its Host, which a name of others that leads
 * to 127.0.0.1 (DNS rebinding) is not; one that says its Origin must come from
 * the page of this server; and all but the first must have a cookie that the
 * first one got for the token in the URL.  Secrets are compared in constant
 * time.
 */
enum { GUARD_TOKEN = 32 };

struct guard {
    char token[GUARD_TOKEN + 1];  /* 128 random bits in hexadecimal */
    char cookie[24];              /* its name: "gtrack-7979" */
    const struct opt_list *hosts; /* names besides those of this machine */
};

/* Headers of a request; NULL for one that is missing. */
struct guard_request {
    const char *host, *origin, *cookie;
    const char *token; /* in the URL */
    bool changes;      /* it is a POST */
};

enum guard_verdict {
    GUARD_PASS,
    GUARD_ENTER,  /* the token is right: set the cookie */
    GUARD_REFUSE, /* e says why */
};

/* A random token.  The port tells the cookies of several servers apart. */
int guard_init(struct guard *, int port, const struct opt_list *hosts,
               struct err *);
enum guard_verdict guard_check(const struct guard *,
                               const struct guard_request *, struct err *);

#endif
