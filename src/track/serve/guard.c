#include "config.h"
#include "track/serve/guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

int guard_init(struct guard *g, int port, const struct opt_list *hosts,
               struct err *e)
{
    unsigned char random[GUARD_TOKEN / 2];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_sys(e, "cannot make a random token");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(g->token + 2 * i, 3, "%02x", random[i]);
    snprintf(g->cookie, sizeof g->cookie, "gtrack-%d", port);
    g->hosts = hosts;
    return 0;
}

/* Is it the token?  The time does not depend on where they differ. */
static bool is_token(const struct guard *g, const char *text, size_t n)
{
    unsigned differ = 0;

    if (n != GUARD_TOKEN)
        return false;
    for (size_t i = 0; i < GUARD_TOKEN; i++)
        differ |= (unsigned char)text[i] ^ (unsigned char)g->token[i];
    return differ == 0;
}

/* The length of the name in "name:port" or "[::1]:port". */
static size_t name_length(const char *host)
{
    const char *bracket = *host == '[' ? strchr(host, ']') : NULL;

    return bracket ? (size_t)(bracket - host) + 1 : strcspn(host, ":");
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
    const char *at = strstr(origin, "://");

    return at && strcasecmp(at + 3, host) == 0;
}

/* Has a header of cookies the right one? */
static bool has_cookie(const struct guard *g, const char *header)
{
    const size_t n = strlen(g->cookie);
    bool found = false;

    while (header && *header) {
        const size_t len = strcspn(header, ";");

        if (len > n && strncmp(header, g->cookie, n) == 0 && header[n] == '=')
            found |= is_token(g, header + n + 1, len - n - 1);
        header += len;
        header += strspn(header, "; ");
    }
    return found;
}

enum guard_verdict guard_check(const struct guard *g,
                               const struct guard_request *r, struct err *e)
{
    if (!r->host || !is_ours(g, r->host)) {
        err_set(e, ERR_USAGE,
                "this server does not answer as %.80s; use 127.0.0.1, or "
                "start it with --host",
                r->host ? r->host : "a host without a name");
        return GUARD_REFUSE;
    }
    if (r->origin ? !is_own_page(r->origin, r->host) : r->changes) {
        err_set(e, ERR_USAGE, "the request comes from another page");
        return GUARD_REFUSE;
    }
    if (has_cookie(g, r->cookie))
        return GUARD_PASS;
    if (r->token && is_token(g, r->token, strlen(r->token)))
        return GUARD_ENTER;
    err_set(e, ERR_USAGE,
            "open the URL with the token that gtrack serve printed when it "
            "started");
    return GUARD_REFUSE;
}
