#include "config.h"
#include "common/http/http.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/format/secret.h"
#include "common/http/http_impl.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/rng.h"
#include "common/sig.h"

struct http *http_open(const struct http_conf *conf, struct err *e)
{
    struct http *h;

    if (libcurl_open(e) < 0)
        return NULL;
    h = xcalloc(1, sizeof *h);
    h->curl = libcurl()->easy_init();
    if (!h->curl) {
        err_set(e, ERR_SYSTEM, "cannot start libcurl");
        free(h);
        return NULL;
    }
    if (conf)
        h->conf = *conf;
    h->agent = conf && conf->agent ? xstrdup(conf->agent)
                                   : xasprintf("gtrain/%s", PACKAGE_VERSION);
    h->ca = h->conf.ca ? xstrdup(h->conf.ca) : NULL;
    h->cert = h->conf.cert ? xstrdup(h->conf.cert) : NULL;
    h->ca_is_folder = h->ca && path_is_folder(h->ca);
    h->conf.tries = h->conf.tries ? h->conf.tries : 6;
    if (h->conf.name_tries == 0 || h->conf.name_tries > h->conf.tries)
        h->conf.name_tries = h->conf.tries;
    h->conf.connect = h->conf.connect > 0 ? h->conf.connect : 20;
    h->conf.stall = h->conf.stall > 0 ? h->conf.stall : 60;
    h->conf.wait = h->conf.wait > 0 ? h->conf.wait : 1;
    h->conf.wait_most = h->conf.wait_most > 0 ? h->conf.wait_most : 60;
    return h;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    libcurl()->easy_cleanup(h->curl);
    FREE(h->agent, h->ca, h->cert, h);
}

void http_reply_clear(struct http_reply *r)
{
    buf_clear(&r->body);
    free(r->tag);
    *r = HTTP_REPLY_INIT;
}

bool http_cancelled(const struct http *h)
{
    return sig_caught() || (h->conf.cancel && atomic_load(h->conf.cancel));
}

enum outcome { DONE, AGAIN, FAILED };

static void describe_status(const struct http_transfer *t, struct err *e)
{
    const char *body = t->reply->body.s;
    const int n = (int)strcspn(body, "\r\n");
    char *to = NULL;

    if (t->call->stay && t->reply->status / 100 == 3)
        libcurl()->easy_getinfo(t->curl, CURLINFO_REDIRECT_URL, &to);
    if (to) {
        struct buf b = BUF_INIT;

        secret_mask(&b, to);
        err_set(e, ERR_REMOTE,
                "%s: the server redirects to %s; if you trust it, use that "
                "address",
                t->shown, b.s);
        buf_clear(&b);
        return;
    }
    err_set(e, ERR_REMOTE, "%s: the server answered %ld%s%.*s", t->shown,
            t->reply->status, n && *body != '<' ? ": " : "",
            *body == '<' ? 0
            : n < 200    ? n
                         : 200,
            body);
}

/* Is this a status that may change with the next try? */
static bool is_passing(long status, bool once)
{
    static const long passing[] = { 429, 503, 408, 425, 500, 502, 504 };
    const size_t n = once ? 2 : sizeof passing / sizeof passing[0];

    for (size_t i = 0; i < n; i++)
        if (status == passing[i])
            return true;
    return false;
}

/* Did it fail before the server could act on the request? */
static bool is_before(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY ||
           code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR;
}

/* Failures that no further try would change. */
static bool is_final(CURLcode code)
{
    return code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
           code == CURLE_TOO_MANY_REDIRECTS ||
           code == CURLE_PEER_FAILED_VERIFICATION ||
           code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM ||
           code == CURLE_OUT_OF_MEMORY || code == CURLE_READ_ERROR;
}

static enum outcome after(const struct http_transfer *t, CURLcode code,
                          struct err *e)
{
    const struct http_call *call = t->call;
    struct http_reply *r = t->reply;

    if (r->stopped)
        return DONE;
    if (code == CURLE_ABORTED_BY_CALLBACK) {
        err_set(e, ERR_INTERRUPTED, "%s: interrupted", t->shown);
        return FAILED;
    }
    r->changed = t->changed;
    if (t->too_long || t->changed || t->range_wrong) {
        err_set(e, ERR_REMOTE, "%s: %s", t->shown,
                t->too_long ? "the reply is too long"
                : t->changed
                    ? "the file changed during the download; start again"
                    : "the server sent another range than asked for");
        return FAILED;
    }
    if (r->status == 416 && call->from + t->done > 0) {
        if (r->size == call->from + t->done)
            return DONE; /* there is no rest */
        r->changed = true;
        err_set(e, ERR_REMOTE,
                "%s: the file is shorter than the part already downloaded",
                t->shown);
        return FAILED;
    }
    if (code != CURLE_OK) {
        err_set(e, ERR_REMOTE, "%s: %s", t->shown,
                t->error[0] ? t->error : libcurl()->easy_strerror(code));
        return is_final(code) || (call->once && !is_before(code)) ? FAILED
                                                                  : AGAIN;
    }
    if (r->status / 100 == 2)
        return DONE;
    describe_status(t, e);
    return is_passing(r->status, call->once) ? AGAIN : FAILED;
}

/* How long the server asks to wait, or else our own growing, jittered wait. */
static double wait_for(struct http *h, int tries)
{
    const double jitter =
        (double)rng_uniform((uint64_t)getpid(), RNG_SAMPLE, h->waits++);
    double secs = h->conf.wait * ldexp(1, tries - 1);
    curl_off_t asked = 0;

    libcurl()->easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &asked);
    if (asked > 0)
        return (double)asked;
    secs = secs < h->conf.wait_most ? secs : h->conf.wait_most;
    return secs * (0.5 + 0.5 * jitter);
}

static int wait_secs(const struct http *h, double secs, struct err *e)
{
    const double end = clock_mono() + secs;
    double left;

    while ((left = end - clock_mono()) > 0) {
        if (http_cancelled(h))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        clock_pause(fmin(left, 0.2));
    }
    return 0;
}

static int run_tries(struct http *h, struct http_transfer *t, struct err *e)
{
    for (int tries = 1;; tries++) {
        const int64_t had = t->done;
        struct err why = { 0 };
        const CURLcode code = http_try(h, t);
        const enum outcome o = after(t, code, &why);
        double secs;

        if (o == DONE)
            return 0;
        *e = why;
        if (o == FAILED)
            return -1;
        if (t->call->sink && t->done > had)
            tries = 1; /* there was progress: count the attempts anew */
        t->reply->no_host = code == CURLE_COULDNT_RESOLVE_HOST;
        if (tries >= (t->reply->no_host ? h->conf.name_tries : h->conf.tries))
            return tries == 1 ? -1
                              : err_wrap(e, "gave up after %d attempts", tries);
        secs = wait_for(h, tries);
        if (secs > h->conf.wait_most)
            return err_wrap(e, "the server asked to wait %.0f s", secs);
        log_warn("%s; retrying in %.1f s", why.text, secs);
        *e = (struct err){ 0 };
        if (wait_secs(h, secs, e) < 0)
            return -1;
    }
}

int http_do(struct http *h, const struct http_call *call,
            struct http_reply *reply, struct err *e)
{
    struct http_transfer t = { .call = call, .reply = reply, .curl = h->curl };
    struct buf shown = BUF_INIT;
    int ret;

    secret_mask(&shown, call->url);
    t.shown = shown.s;
    http_reply_clear(reply);
    ret = run_tries(h, &t, e);
    buf_clear(&shown);
    FREE(t.etag, t.date);
    return ret;
}

char *http_host(const char *url)
{
    char *part = NULL, *host = NULL;
    CURLU *u;

    if (libcurl_open(ERR_IGNORED) < 0)
        return NULL;
    u = libcurl()->url();
    if (u && libcurl()->url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        libcurl()->url_get(u, CURLUPART_HOST, &part, 0) == CURLUE_OK) {
        host = xstrdup(part);
        for (char *c = host; *c; c++)
            *c = (char)tolower((unsigned char)*c);
    }
    libcurl()->free(part);
    libcurl()->url_cleanup(u);
    return host;
}
