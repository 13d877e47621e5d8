#include "config.h"
#include "common/http.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/libcurl.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/rng.h"
#include "common/sig.h"

enum { MAX_REPLY = 64 << 20, REDIRECTS = 10 };

struct http {
    CURL *curl;
    struct http_conf conf;
    char *agent, *ca, *cert;
    bool ca_is_folder;
    uint64_t waits; /* so far, for the jitter */
};

/* One call, over all its tries. */
struct transfer {
    const struct http_call *call;
    struct http_reply *reply;
    CURL *curl;
    int64_t done; /* bytes delivered */

    /* of this try */
    int64_t skip;     /* bytes of the body to drop */
    int64_t first;    /* byte that Content-Range names, or -1 */
    bool judged;      /* the status was looked at */
    bool body_counts; /* it is what was asked for */
    bool range_wrong, changed, too_long;
    char *etag, *date; /* of this reply */
    int64_t sent;      /* of the file */
    char error[CURL_ERROR_SIZE];
};

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
    free(h->agent);
    free(h->ca);
    free(h->cert);
    free(h);
}

void http_reply_clear(struct http_reply *r)
{
    buf_clear(&r->body);
    free(r->tag);
    free(r->type);
    *r = (struct http_reply)HTTP_REPLY_INIT;
}

/* What arrives */

static void keep(char **field, const char *value, size_t n)
{
    while (n && (*value == ' ' || *value == '\t')) {
        value++;
        n--;
    }
    while (n && (value[n - 1] == '\r' || value[n - 1] == '\n' ||
                 value[n - 1] == ' '))
        n--;
    free(*field);
    *field = xstrndup(value, n);
}

/* "bytes 100-199/1000", "bytes 100-199/" and a star, or a star for the first */
static void content_range(struct transfer *j, const char *value)
{
    long long first = -1, last, size = -1;

    if (sscanf(value, " bytes %lld-%lld/%lld", &first, &last, &size) >= 2)
        j->first = first;
    else
        (void)sscanf(value, " bytes */%lld", &size);
    if (size >= 0)
        j->reply->size = size;
}

/* A number in a header, or -1. */
static double header_number(const char *value, size_t n)
{
    char *text = xstrndup(value, n), *end;
    double x = strtod(text, &end);

    if (end == text || !isfinite(x) || x < 0)
        x = -1;
    free(text);
    return x;
}

static size_t on_header(char *data, size_t one, size_t n, void *arg)
{
    struct transfer *j = arg;
    const char *colon = memchr(data, ':', n);
    const size_t name = colon ? (size_t)(colon - data) : 0;
    const char *value = data + name + 1;

    (void)one;
    if (n > 5 && memcmp(data, "HTTP/", 5) == 0) { /* a new reply begins */
        j->first = -1;
        j->reply->rate_left = j->reply->rate_reset = -1;
        keep(&j->reply->type, "", 0);
        keep(&j->etag, "", 0);
        keep(&j->date, "", 0);
    } else if (name == 4 && strncasecmp(data, "etag", 4) == 0) {
        keep(&j->etag, value, n - name - 1);
    } else if (name == 13 && strncasecmp(data, "last-modified", 13) == 0) {
        keep(&j->date, value, n - name - 1);
    } else if (name == 12 && strncasecmp(data, "content-type", 12) == 0) {
        keep(&j->reply->type, value, n - name - 1);
    } else if (name == 13 && strncasecmp(data, "content-range", 13) == 0) {
        char *text = xstrndup(value, n - name - 1);

        content_range(j, text);
        free(text);
    } else if (name == 19 &&
               strncasecmp(data, "ratelimit-remaining", 19) == 0) {
        j->reply->rate_left = header_number(value, n - name - 1);
    } else if (name == 15 && strncasecmp(data, "ratelimit-reset", 15) == 0) {
        j->reply->rate_reset = header_number(value, n - name - 1);
    }
    return n;
}

/*
 * Which version this is: a strong ETag, or else the date.  One that is not the
 * version we have a part of is no use.
 */
static void compare_tags(struct transfer *j)
{
    const char *had = j->done ? j->reply->tag : j->call->tag;
    const char *tag = j->etag && j->etag[0] == '"' ? j->etag : j->date;

    if (j->call->from + j->done > 0)
        j->changed = had && tag && *tag && strcmp(had, tag) != 0;
    free(j->reply->tag);
    j->reply->tag = tag && *tag ? xstrdup(tag) : NULL;
}

/* The first piece of a body: is it the thing itself, and from where on? */
static void judge(struct transfer *j)
{
    curl_off_t length = -1;

    j->judged = true;
    j->skip = 0;
    libcurl()->easy_getinfo(j->curl, CURLINFO_RESPONSE_CODE, &j->reply->status);
    j->body_counts = j->reply->status / 100 == 2;
    if (j->body_counts)
        compare_tags(j);
    libcurl()->easy_getinfo(j->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
                            &length);
    j->range_wrong =
        j->reply->status == 206 && j->first != j->call->from + j->done;
    if (j->reply->status == 206)
        return;
    if (!j->body_counts)
        return;
    j->reply->size = length;
    j->skip = j->call->from + j->done;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
    struct transfer *j = arg;
    const size_t all = n;
    const size_t max = j->call->max ? j->call->max : MAX_REPLY;

    (void)one;
    if (!j->judged)
        judge(j);
    if (j->body_counts && (j->range_wrong || j->changed))
        return 0;
    if (j->skip) {
        const size_t drop = j->skip < (int64_t)n ? (size_t)j->skip : n;

        j->skip -= (int64_t)drop;
        data += drop;
        n -= drop;
        if (!n)
            return all;
    }
    if (j->body_counts && j->call->sink) {
        j->done += (int64_t)n;
        j->reply->stopped = !j->call->sink(j->call->arg, data, n);
        return j->reply->stopped ? 0 : all;
    }
    if (n > max - j->reply->body.len) {
        j->too_long = j->body_counts;
        return j->too_long ? 0 : all;
    }
    buf_add(&j->reply->body, data, n);
    j->done += j->body_counts ? (int64_t)n : 0;
    return all;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c,
                       curl_off_t d)
{
    (void)arg;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return sig_caught() != 0;
}

/* What is sent from a file */

static size_t on_read(char *data, size_t one, size_t n, void *arg)
{
    struct transfer *j = arg;
    const int64_t left = (int64_t)j->call->len - j->sent;
    ssize_t got;

    (void)one;
    if ((int64_t)n > left)
        n = (size_t)left;
    got = n ? pread(j->call->fd, data, n, j->call->fd_at + j->sent) : 0;
    if (got < 0 || (n && got == 0))
        return CURL_READFUNC_ABORT;
    j->sent += got;
    return (size_t)got;
}

static int on_seek(void *arg, curl_off_t at, int whence)
{
    struct transfer *j = arg;

    if (whence != SEEK_SET || at < 0 || at > (curl_off_t)j->call->len)
        return CURL_SEEKFUNC_CANTSEEK;
    j->sent = at;
    return CURL_SEEKFUNC_OK;
}

/* One try */

static void set_protocols(CURL *c)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    libcurl()->easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    libcurl()->easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    const long web = CURLPROTO_HTTP | CURLPROTO_HTTPS;

    libcurl()->easy_setopt(c, CURLOPT_PROTOCOLS, web);
    libcurl()->easy_setopt(c, CURLOPT_REDIR_PROTOCOLS, web);
#endif
}

static void set_body(struct transfer *j)
{
    const struct http_call *call = j->call;
    CURL *c = j->curl;

    if (call->fd > 0) {
        libcurl()->easy_setopt(c, CURLOPT_UPLOAD, 1L);
        libcurl()->easy_setopt(c, CURLOPT_INFILESIZE_LARGE,
                               (curl_off_t)call->len);
        libcurl()->easy_setopt(c, CURLOPT_READFUNCTION, on_read);
        libcurl()->easy_setopt(c, CURLOPT_READDATA, (void *)j);
        libcurl()->easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek);
        libcurl()->easy_setopt(c, CURLOPT_SEEKDATA, (void *)j);
    } else if (call->body) {
        libcurl()->easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
                               (curl_off_t)call->len);
        libcurl()->easy_setopt(c, CURLOPT_POSTFIELDS, call->body);
    }
    if (call->method && strcmp(call->method, "HEAD") == 0)
        libcurl()->easy_setopt(c, CURLOPT_NOBODY, 1L);
    else if (call->method)
        libcurl()->easy_setopt(c, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_credentials(CURL *c, const struct http_call *call)
{
    if (call->bearer) {
        libcurl()->easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        libcurl()->easy_setopt(c, CURLOPT_XOAUTH2_BEARER, call->bearer);
    } else if (call->user) {
        libcurl()->easy_setopt(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        libcurl()->easy_setopt(c, CURLOPT_USERNAME, call->user);
        libcurl()->easy_setopt(c, CURLOPT_PASSWORD,
                               call->password ? call->password : "");
    }
}

static struct curl_slist *make_headers(const struct transfer *j)
{
    const char *const *h = j->call->header;
    const char *tag = j->done ? j->reply->tag : j->call->tag;
    struct curl_slist *list = libcurl()->slist_append(NULL, "Expect:");

    for (; h && *h; h++)
        list = libcurl()->slist_append(list, *h);
    if (j->call->from + j->done > 0 && tag) {
        char *line = xasprintf("If-Range: %s", tag);

        list = libcurl()->slist_append(list, line);
        free(line);
    }
    return list;
}

static void set_trust(CURL *c, const struct http *h)
{
    if (h->ca)
        libcurl()->easy_setopt(
            c, h->ca_is_folder ? CURLOPT_CAPATH : CURLOPT_CAINFO, h->ca);
    if (h->cert) {
        libcurl()->easy_setopt(c, CURLOPT_SSLCERT, h->cert);
        libcurl()->easy_setopt(c, CURLOPT_SSLKEY, h->cert);
    }
    if (h->conf.insecure) {
        libcurl()->easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
        libcurl()->easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static CURLcode try_once(struct http *h, struct transfer *j)
{
    struct curl_slist *headers;
    int64_t from;
    char range[32];
    CURL *c = h->curl;
    CURLcode code;

    if (!j->call->sink) /* only what is fetched is worth a second half */
        j->done = 0;
    from = j->call->from + j->done;
    headers = make_headers(j);
    j->judged = j->body_counts = j->range_wrong = false;
    j->changed = j->too_long = false;
    j->sent = 0;
    j->error[0] = '\0';
    j->reply->status = 0;
    if (!j->done)
        buf_trim(&j->reply->body, 0);
    libcurl()->easy_reset(c);
    libcurl()->easy_setopt(c, CURLOPT_URL, j->call->url);
    libcurl()->easy_setopt(c, CURLOPT_USERAGENT, h->agent);
    libcurl()->easy_setopt(c, CURLOPT_ERRORBUFFER, j->error);
    libcurl()->easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    libcurl()->easy_setopt(c, CURLOPT_FOLLOWLOCATION, j->call->stay ? 0L : 1L);
    libcurl()->easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    libcurl()->easy_setopt(c, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
    set_protocols(c);
    libcurl()->easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                           lround(h->conf.connect * 1000));
    libcurl()->easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    libcurl()->easy_setopt(c, CURLOPT_LOW_SPEED_TIME,
                           lround(ceil(h->conf.stall)));
    libcurl()->easy_setopt(c, CURLOPT_TIMEOUT_MS,
                           lround(j->call->secs < 0   ? 0
                                  : j->call->secs > 0 ? j->call->secs * 1000
                                                      : h->conf.secs * 1000));
    libcurl()->easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    libcurl()->easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    libcurl()->easy_setopt(c, CURLOPT_HEADERDATA, (void *)j);
    libcurl()->easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    libcurl()->easy_setopt(c, CURLOPT_WRITEDATA, (void *)j);
    libcurl()->easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    libcurl()->easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    set_credentials(c, j->call);
    set_trust(c, h);
    /* libcurl repeats a request where a kept connection turns out dead, even
     * if that was because of the request */
    if (j->call->once)
        libcurl()->easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
    set_body(j);
    if (from > 0) {
        snprintf(range, sizeof range, "%lld-", (long long)from);
        libcurl()->easy_setopt(c, CURLOPT_RANGE, range);
    }
    code = libcurl()->easy_perform(c);
    libcurl()->slist_free_all(headers);
    if (!j->judged)
        judge(j);
    j->reply->tries++;
    return code;
}

/* After it */

enum outcome { DONE, AGAIN, FAILED };

static void describe_status(const struct transfer *j, struct err *e)
{
    const char *body = j->reply->body.s;
    const int n = (int)strcspn(body, "\r\n");
    char *to = NULL;

    if (j->call->stay && j->reply->status / 100 == 3 &&
        libcurl()->easy_getinfo(j->curl, CURLINFO_REDIRECT_URL, &to) ==
            CURLE_OK &&
        to) {
        err_set(e, ERR_REMOTE,
                "%s: the server redirects to %s; if you trust it, use that "
                "address",
                j->call->url, to);
        return;
    }

    err_set(e, ERR_REMOTE, "%s: the server answered %ld%s%.*s", j->call->url,
            j->reply->status, n && *body != '<' ? ": " : "",
            *body == '<' ? 0
            : n < 200    ? n
                         : 200,
            body);
}

/* A status that may be another one next time. */
static bool is_passing(long status, bool once)
{
    static const long passing[] = { 429, 503, 408, 425, 500, 502, 504 };
    const size_t n = once ? 2 : sizeof passing / sizeof passing[0];

    for (size_t i = 0; i < n; i++)
        if (status == passing[i])
            return true;
    return false;
}

/* Did we stop before the server can have acted on the request? */
static bool is_before(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY ||
           code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR;
}

/* Failures that no further try would change. */
static bool is_final(CURLcode code)
{
    static const CURLcode final[] = {
        CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,
        CURLE_TOO_MANY_REDIRECTS,   CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_CACERT_BADFILE,   CURLE_SSL_CERTPROBLEM,
        CURLE_OUT_OF_MEMORY,        CURLE_READ_ERROR,
    };

    for (size_t i = 0; i < sizeof final / sizeof final[0]; i++)
        if (code == final[i])
            return true;
    return false;
}

static enum outcome after(const struct transfer *j, CURLcode code,
                          struct err *e)
{
    const struct http_call *call = j->call;
    struct http_reply *r = j->reply;

    if (r->stopped)
        return DONE;
    if (code == CURLE_ABORTED_BY_CALLBACK && sig_caught()) {
        err_set(e, ERR_INTERRUPTED, "%s: stopped by a signal", call->url);
        return FAILED;
    }
    r->changed = j->changed;
    if (j->too_long || j->changed || j->range_wrong) {
        err_set(e, ERR_REMOTE, "%s: %s", call->url,
                j->too_long ? "the reply is too long"
                : j->changed
                    ? "the file changed during the download; start again"
                    : "the server sent another range than asked for");
        return FAILED;
    }
    if (r->status == 416 && call->from + j->done > 0) {
        if (r->size == call->from + j->done)
            return DONE; /* there is no rest */
        r->changed = true;
        err_set(e, ERR_REMOTE,
                "%s: the file is shorter than the part already downloaded",
                call->url);
        return FAILED;
    }
    if (code != CURLE_OK) {
        err_set(e, ERR_REMOTE, "%s: %s", call->url,
                j->error[0] ? j->error : libcurl()->easy_strerror(code));
        return is_final(code) || (call->once && !is_before(code)) ? FAILED
                                                                  : AGAIN;
    }
    if (r->status / 100 == 2)
        return DONE;
    describe_status(j, e);
    return is_passing(r->status, call->once) ? AGAIN : FAILED;
}

/* How long the server wants us to wait, or what our own patience says. */
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

static int wait_secs(double secs, struct err *e)
{
    const double end = clock_mono() + secs;
    double left;

    while ((left = end - clock_mono()) > 0) {
        if (sig_caught())
            return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
        poll(NULL, 0, (int)fmin(ceil(left * 1000), 200));
    }
    return 0;
}

static int do_job(struct http *h, struct transfer *j, struct err *e)
{
    for (int tries = 1;; tries++) {
        const int64_t had = j->done;
        struct err why = ERR_INIT;
        const CURLcode code = try_once(h, j);
        const enum outcome o = after(j, code, &why);
        double secs;

        if (o == DONE)
            return 0;
        *e = why;
        if (o == FAILED)
            return -1;
        if (j->call->sink && j->done > had)
            tries = 1; /* there was progress: count the attempts anew */
        if (tries >= h->conf.tries)
            return tries == 1 ? -1
                              : err_wrap(e, "gave up after %d attempts", tries);
        secs = wait_for(h, tries);
        if (secs > h->conf.wait_most)
            return err_wrap(e, "the server asked to wait %.0f s", secs);
        log_warn("%s; retrying in %.1f s", why.text, secs);
        *e = (struct err)ERR_INIT;
        if (wait_secs(secs, e) < 0)
            return -1;
    }
}

int http_do(struct http *h, const struct http_call *call,
            struct http_reply *reply, struct err *e)
{
    struct transfer j = { .call = call, .reply = reply, .curl = h->curl };
    int ret;

    http_reply_clear(reply);
    ret = do_job(h, &j, e);
    free(j.etag);
    free(j.date);
    return ret;
}

char *http_host(const char *url)
{
    struct err none = ERR_INIT;
    char *part = NULL, *host = NULL;
    CURLU *u;

    if (libcurl_open(&none) < 0)
        return NULL;
    u = libcurl()->url();
    if (u && libcurl()->url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        libcurl()->url_get(u, CURLUPART_HOST, &part, 0) == CURLUE_OK) {
        host = xstrdup(part);
        for (char *c = host; *c; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c + 'a' - 'A');
    }
    libcurl()->free(part);
    libcurl()->url_cleanup(u);
    return host;
}

void http_escape(struct buf *b, const char *text)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;

        if ((c >= '0' && c <= '9') ||
            ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || strchr("-._~", c))
            buf_char(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}
