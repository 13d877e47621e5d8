#include "config.h"
#include "track/serve/guard.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/buf.h"
#include "common/num.h"
#include "common/sha256.h"

enum { SESSION_SECS = 7 * 24 * 3600 };

/* A text that only the token gives: its first 32 digits, and a NUL. */
static void derive(const struct guard *g, const char *what,
                   char out[GUARD_TOKEN + 1])
{
    unsigned char mac[SHA256_BYTES];

    sha256_hmac(g->token, GUARD_TOKEN, what, strlen(what), mac);
    for (size_t i = 0; i < GUARD_TOKEN / 2; i++)
        snprintf(out + 2 * i, 3, "%02x", mac[i]);
}

int guard_init(struct guard *g, const struct guard_conf *c, struct err *e)
{
    if ((c->token_file ? random_secret_file(c->token_file, g->token, e)
                       : random_secret(g->token, e)) < 0)
        return -1;
    derive(g, "path", g->path);
    snprintf(g->cookie, sizeof g->cookie, "gtrack-%d", c->port);
    g->hosts = c->hosts;
    return 0;
}

/* Is it this secret?  The time does not depend on where they differ. */
static bool is_secret(const char *secret, const char *text, size_t n)
{
    unsigned differ = 0;

    if (n != GUARD_TOKEN)
        return false;
    for (size_t i = 0; i < GUARD_TOKEN; i++)
        differ |= (unsigned char)text[i] ^ (unsigned char)secret[i];
    return differ == 0;
}

/* The session that ends then, in seconds since 1970. */
static void write_ticket(const struct guard *g, int64_t end,
                         char out[GUARD_SESSION])
{
    char what[32], secret[GUARD_TOKEN + 1];

    snprintf(what, sizeof what, "session %" PRId64, end);
    derive(g, what, secret);
    snprintf(out, GUARD_SESSION, "%" PRId64 "-%s", end, secret);
}

void guard_begin(const struct guard *g, int64_t now, char out[GUARD_SESSION])
{
    write_ticket(g, now + SESSION_SECS, out);
}

/* Is it a session that has begun and not ended? */
static bool is_ticket(const struct guard *g, const char *text, size_t n)
{
    const int64_t end = strtoll(text, NULL, 10), now = time(NULL);
    char want[GUARD_SESSION];
    size_t dash;

    write_ticket(g, end, want);
    dash = strcspn(want, "-") + 1;
    return now < end && end <= now + SESSION_SECS && n > dash &&
           is_secret(want + dash, text + dash, n - dash);
}

/* The length of the name in "name", "name:port" or "[::1]:port"; 0 if anything
 * else is there. */
static size_t name_length(const char *host)
{
    const char *bracket = *host == '[' ? strchr(host, ']') : NULL;
    const size_t n =
        bracket ? (size_t)(bracket - host) + 1 : strcspn(host, ":");
    const char *port = host + n + 1;

    if (!host[n])
        return n;
    return host[n] == ':' && isdigit((unsigned char)*port) &&
                   port[strspn(port, "0123456789")] == '\0'
               ? n
               : 0;
}

static bool is_name(const char *host, size_t n, const char *name)
{
    return strlen(name) == n && strncasecmp(host, name, n) == 0;
}

static bool is_ours(const struct guard *g, const char *host)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
    const size_t n = name_length(host);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_name(host, n, names[i]))
            return true;
    for (size_t i = 0; g->hosts && i < g->hosts->n; i++)
        if (is_name(host, n, g->hosts->item[i]))
            return true;
    return false;
}

/* Does the page that asks come from this server, by its name and port? */
static bool is_own_page(const char *origin, const char *host)
{
    const size_t n = strncmp(origin, "https://", 8) == 0  ? 8
                     : strncmp(origin, "http://", 7) == 0 ? 7
                                                          : 0;

    return n > 0 && strcasecmp(origin + n, host) == 0;
}

/* Has a header of cookies the right one? */
static bool has_cookie(const struct guard *g, const char *header)
{
    const size_t n = strlen(g->cookie);
    bool found = false;

    while (header && *header) {
        const size_t len = strcspn(header, ";");

        if (len > n && strncmp(header, g->cookie, n) == 0 && header[n] == '=')
            found |= is_ticket(g, header + n + 1, len - n - 1);
        header += len;
        header += strspn(header, "; ");
    }
    return found;
}

const char *guard_path(const struct guard *g, const char *url)
{
    return *url == '/' && strlen(url) > GUARD_TOKEN &&
                   is_secret(g->path, url + 1, GUARD_TOKEN) &&
                   url[1 + GUARD_TOKEN] == '/'
               ? url + 1 + GUARD_TOKEN
               : NULL;
}

enum guard_verdict guard_check(const struct guard *g,
                               const struct guard_request *r, struct err *e)
{
    if (r->hosts > 1 || !r->host || !is_ours(g, r->host)) {
        err_usage(e,
                  "this server does not answer as %.80s; use 127.0.0.1, or "
                  "start it with --host",
                  r->host ? r->host : "a host without a name");
        return GUARD_REFUSE;
    }
    if (r->origin ? !is_own_page(r->origin, r->host) : r->changes) {
        err_usage(e, "the request comes from another page");
        return GUARD_REFUSE;
    }
    if (has_cookie(g, r->cookie))
        return GUARD_PASS;
    if (r->token && is_secret(g->token, r->token, strlen(r->token)))
        return GUARD_ENTER;
    err_usage(e,
              "open the URL with the token that gtrack serve printed when it "
              "started; a session ends after a week");
    return GUARD_REFUSE;
}

/* ---- the parameters of a URL --------------------------------------------- */

/* The text with its escapes decoded; NULL if one is wrong. */
static char *decode(struct arena *mem, const char *s, size_t n)
{
    char *out = arena_strndup(mem, s, n);

    for (char *plus = out; (plus = strchr(plus, '+'));)
        *plus = ' ';
    return percent_decode(out) ? out : NULL;
}

int query_parse(struct query *q, const char *text, struct err *e)
{
    while (*text) {
        const size_t n = strcspn(text, "&"), k = strcspn(text, "=&");
        const size_t skip = k < n ? k + 1 : n;

        if (q->n == QUERY_MOST)
            return err_usage(e, "the URL has more than %d parameters",
                             QUERY_MOST);
        q->key[q->n] = decode(&q->mem, text, k);
        q->value[q->n] = decode(&q->mem, text + skip, n - skip);
        if (!q->key[q->n] || !q->value[q->n])
            return err_usage(
                e, "the URL has an escape that is wrong in '%.40s'", text);
        q->n++;
        text += n + (text[n] == '&');
    }
    return 0;
}

const char *query_get(const struct query *q, const char *key)
{
    for (size_t i = 0; i < q->n; i++)
        if (strcmp(q->key[i], key) == 0)
            return *q->value[i] ? q->value[i] : NULL;
    return NULL;
}

bool query_flag(const struct query *q, const char *key)
{
    const char *value = query_get(q, key);

    return value && strcmp(value, "1") == 0;
}

int query_number(const struct query *q, const char *key, int most,
                 int otherwise, int *out, struct err *e)
{
    const char *value = query_get(q, key);
    int64_t n;

    *out = otherwise;
    if (!value)
        return 0;
    if (!num_int(value, &n) || n < 0 || n > most)
        return err_usage(e,
                         "%s expects a number from 0 to %d, not "
                         "'%s'",
                         key, most, value);
    *out = (int)n;
    return 0;
}

size_t query_list(struct query *q, const char *key, char ***list)
{
    const char *value = query_get(q, key);
    char **item = NULL;
    size_t n = 0;

    while (value && *value) {
        const size_t len = strcspn(value, ",");

        if (len) {
            item = arena_grow(&q->mem, item, n, sizeof *item);
            item[n++] = arena_strndup(&q->mem, value, len);
        }
        value += len + (value[len] == ',');
    }
    *list = item;
    return n;
}

void query_clear(struct query *q)
{
    arena_clear(&q->mem);
    *q = (struct query){ 0 };
}
