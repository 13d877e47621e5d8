#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/random.h"

/*
 * guard - who may ask the server
 *
 * A browser sends requests to 127.0.0.1 for any page that it shows, and sends
 * cookies to all ports of a host.  So the page and its cookie are below a path
 * that nobody can guess; each request must name this server as its Host, which
 * a name of others that leads to 127.0.0.1 (DNS rebinding) is not; one that
 * says its Origin must come from the page of this server; and all but the first
 * must have a cookie that the first one got for the token in the URL.  The
 * session in the cookie ends after a week.  The path and the session follow
 * from the token, so that both outlive the server if the token does.  Secrets
 * are compared in constant time.
 */
enum { GUARD_TOKEN = 32, GUARD_SESSION = 64 };

struct guard {
    char token[RANDOM_SECRET];    /* 128 random bits in hexadecimal */
    char path[GUARD_TOKEN + 1];   /* the first folder of all paths */
    char cookie[24];              /* its name: "gtrack-7979" */
    const struct opt_list *hosts; /* names besides those of this machine */
};

struct guard_conf {
    int port;
    const struct opt_list *hosts;
    const char *token_file; /* where the token is kept, or NULL */
};

/* Headers of a request; NULL for one that is missing. */
struct guard_request {
    const char *host, *origin, *cookie;
    const char *token; /* in the URL */
    int hosts;         /* headers that name a host */
    bool changes;      /* it is a POST */
};

enum guard_verdict {
    GUARD_PASS,
    GUARD_ENTER,  /* the token is right: set the cookie */
    GUARD_REFUSE, /* e says why */
};

/* A random token, or the one of a file.  The port tells the cookies of several
 * servers apart. */
int guard_init(struct guard *, const struct guard_conf *, struct err *);
/* The path of a URL without the first folder; NULL if that is another one. */
const char *guard_path(const struct guard *, const char *url);
/* What the cookie says from `now` on, in seconds since 1970. */
void guard_begin(const struct guard *, int64_t now, char out[GUARD_SESSION]);
enum guard_verdict guard_check(const struct guard *,
                               const struct guard_request *, struct err *);

/*
 * query - the parameters of a URL: "store=0&filter=lr%20%3C%201"
 *
 *      struct query q = { 0 };
 *
 *      if (query_parse(&q, text, e) == 0)
 *          ... query_get(&q, "filter") ...
 *      query_clear(&q);
 *
 * An escape that is not one, or that stands for a NUL, is ERR_USAGE, and so are
 * more parameters than any page asks with.
 */
enum { QUERY_MOST = 64 };

struct query {
    struct arena mem;
    const char *key[QUERY_MOST], *value[QUERY_MOST];
    size_t n;
    const char *body; /* what a POST sends */
};

int query_parse(struct query *, const char *text, struct err *);
/* The value of a key; NULL if it is missing or empty. */
const char *query_get(const struct query *, const char *key);
/* Is its value "1"? */
bool query_flag(const struct query *, const char *key);
/* A whole number from 0 to most, or `otherwise` if it is missing. */
int query_number(const struct query *, const char *key, int most, int otherwise,
                 int *out, struct err *);
/* The parts of a value between commas; the list belongs to the query. */
size_t query_list(struct query *, const char *key, char ***list);
void query_clear(struct query *);
