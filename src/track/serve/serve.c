#include "config.h"
#include "track/serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "track/runs/track.h"
#include "track/serve/http_server.h"
#include "track/serve/site.h"

/* ---- sockets ----------------------------------------------------------- */

enum { BACKLOG = 256, FIRST_PORT = 7979, TRIES = 20 };

static int open_socket(int family, struct err *e)
{
    const int fd =
        socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return fd < 0 ? err_sys(e, "cannot open a socket") : fd;
}

/* -1 with errno, if the port is in use. */
static int try_port(int fd, int port)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    return bind(fd, (const struct sockaddr *)&a, sizeof a) < 0 ||
                   listen(fd, BACKLOG) < 0
               ? -1
               : 0;
}

static int port_of(int fd)
{
    struct sockaddr_in a = { 0 };
    socklen_t n = sizeof a;

    return getsockname(fd, (struct sockaddr *)&a, &n) < 0 ? 0
                                                          : ntohs(a.sin_port);
}

/* A socket of 127.0.0.1, on the port that *port becomes.  Port 0 is the first
 * free one from FIRST_PORT on, or any. */
static int listen_tcp(int *port, struct err *e)
{
    const int fd = open_socket(AF_INET, e), on = 1;
    int ret = -1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (*port)
        ret = try_port(fd, *port);
    for (int i = 0; !*port && ret < 0 && i < TRIES; i++)
        ret = try_port(fd, FIRST_PORT + i);
    if (!*port && ret < 0)
        ret = try_port(fd, 0);
    if (ret < 0) {
        err_sys(e, "cannot listen on port %d of 127.0.0.1", *port);
        close(fd);
        return -1;
    }
    *port = port_of(fd);
    return fd;
}

/* Does a server still use the socket? */
static bool is_used(const struct sockaddr_un *a)
{
    AUTO(path_close)
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof *a) == 0;
}

/* A socket that only its owner can use.  The file of a server that has ended is
 * replaced. */
static int listen_unix(const char *path, struct err *e)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct stat st;
    mode_t mask;
    int fd, ret;

    if (strlen(path) >= sizeof a.sun_path || !*path)
        return err_usage(e,
                         "--listen unix:PATH expects a path of 1 to %zu bytes",
                         sizeof a.sun_path - 1);
    memcpy(a.sun_path, path, strlen(path) + 1);
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
        if (is_used(&a))
            return err_usage(e, "another server listens on %s", path);
        unlink(path);
    }
    fd = open_socket(AF_UNIX, e);
    if (fd < 0)
        return -1;
    mask = umask(0077);
    ret = bind(fd, (const struct sockaddr *)&a, sizeof a) < 0 ||
          listen(fd, BACKLOG) < 0;
    umask(mask);
    if (ret) {
        err_sys(e, "cannot listen on %s", path);
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- the server -------------------------------------------------------- */

/* Seconds between two comments to a stream, which tell whether it is read. */
static const double heartbeat = 15;

struct serve {
    const struct serve_conf *conf;
    struct site site;
    struct guard guard;
    struct http_server *http;
    struct pollfd *poll; /* of the server, and of each store */
    double beat_at;
    int port;
    char *url;
};

/* Seconds that somebody who asks waits for a reading, unless it is known that
 * the store takes longer. */
static const double patience = 1;

/* Begin to read the stores that have changed, if it is time; wait so long for
 * each that is being read, and tell the pages what is different. */
static void read_stores(struct serve *s, double secs)
{
    for (size_t i = 0; i < s->site.n_stores; i++) {
        struct live *l = &s->site.store[i];
        AUTO(buf_clear) struct buf b = BUF_INIT;
        struct emit o = { .b = &b };

        live_look(l);
        if (live_due(l))
            live_begin(l);
        if (!live_end(l, l->secs < secs ? secs : 0))
            continue;
        buf_str(&b, "event: runs\ndata: ");
        live_changed(l, &o);
        buf_str(&b, "\n\n");
        http_server_send(s->http, (int)i, b.s);
    }
}

/* A store is read for a page that asks, if nothing is open that would have
 * been told. */
static void on_request(void *arg, const struct http_request *r,
                       struct answer *a)
{
    struct serve *s = arg;

    read_stores(s, patience);
    site_answer(&s->site, r->post, r->path, r->query, r->body, a);
}

static bool is_reading(const struct serve *s)
{
    for (size_t i = 0; i < s->site.n_stores; i++)
        if (s->site.store[i].reading)
            return true;
    return false;
}

static double wait_of(const struct serve *s)
{
    double wait = 1; /* a signal may come just before poll(2) */

    wait = fmin(wait, fmax(s->beat_at - clock_mono(), 0));
    for (size_t i = 0; i < s->site.n_stores; i++)
        if (http_server_streams(s->http))
            wait = fmin(wait, live_wait(&s->site.store[i]));
    return http_server_wait(s->http, wait);
}

static void serve_once(struct serve *s)
{
    const size_t n = s->site.n_stores;
    double wait;

    s->poll[n] = (struct pollfd){ http_server_fd(s->http), POLLIN, 0 };
    for (size_t i = 0; i < n; i++) {
        const struct live *l = &s->site.store[i];

        s->poll[i] = (struct pollfd){ live_fd(l), POLLIN, 0 };
    }
    wait = wait_of(s);
    if (poll(s->poll, n + 1, (int)ceil(wait * 1000)) < 0 && errno != EINTR)
        clock_pause(fmin(wait, 0.1));
    for (size_t i = 0; i < n; i++)
        live_look(&s->site.store[i]);
    if (http_server_streams(s->http) || is_reading(s))
        read_stores(s, 0);
    if (clock_mono() >= s->beat_at) {
        http_server_send(s->http, -1, ":\n\n");
        s->beat_at = clock_mono() + heartbeat;
    }
    http_server_run(s->http);
}

/* A file of the user alone that leads a browser to the page.  The lists of
 * processes show its name, and not the token.  NULL, with a warning, if it
 * cannot be written. */
static char *write_redirect(const char *url)
{
    char *path = xasprintf("%s/gtrack-XXXXXX.html", path_temp());
    const int fd = mkstemps(path, (int)strlen(".html"));
    FILE *fp = fd < 0 ? NULL : fdopen(fd, "w");

    if (fp)
        fprintf(fp,
                "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"referrer\" content=\"no-referrer\">\n"
                "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
                "<title>gtrack serve</title>\n"
                "<a href=\"%s\">The page of gtrack serve</a>\n",
                url, url); /* style: own */
    if (fp && fclose(fp) == 0)
        return path;
    log_warn("no browser is opened: cannot write %s: %s", path,
             strerror(errno));
    free(path);
    return NULL;
}

/* Show a file in the user's browser, which goes on without this program. */
static void open_browser(const char *path)
{
    if (!path || fork() != 0)
        return;
    if (setsid() < 0 || fork() != 0)
        _exit(0);
    execlp("xdg-open", "xdg-open", path, (char *)NULL);
    _exit(127);
}

/* A process that keeps the right to remove a file, the socket or that for the
 * browser, does so as soon as the server has ended or been killed. */
struct keeper {
    pid_t pid;
    int held; /* its input, which is closed then */
};

static void keep_file(struct keeper *k, const char *path)
{
    int end[2];

    *k = (struct keeper){ -1, -1 };
    if (!path || pipe2(end, O_CLOEXEC) < 0)
        return;
    k->pid = fork();
    k->held = end[1];
    if (k->pid == 0) {
        char none;

        setsid();
        close(end[1]);
        while (read(end[0], &none, 1) < 0 && errno == EINTR)
            ;
        unlink(path);
        _exit(0);
    }
    close(end[0]);
}

static void end_keeper(const struct keeper *k)
{
    if (k->held >= 0)
        close(k->held);
    if (k->pid > 0)
        waitpid(k->pid, NULL, 0);
}

static int open_http(struct serve *s, struct err *e)
{
    struct guard_conf guard = { .hosts = s->conf->hosts,
                                .token_file = s->conf->token_file };
    int fd;

    s->port = s->conf->port;
    fd = s->conf->socket ? listen_unix(s->conf->socket, e)
                         : listen_tcp(&s->port, e);
    guard.port = s->port;
    if (fd < 0 || guard_init(&s->guard, &guard, e) < 0)
        return -1;
    s->url = s->conf->socket
                 ? xasprintf("unix:%s /%s/?token=%s", s->conf->socket,
                             s->guard.path, s->guard.token)
                 : xasprintf("http://127.0.0.1:%d/%s/?token=%s", s->port,
                             s->guard.path, s->guard.token);
    s->http = http_server_open(fd, &s->guard, on_request, s, e);
    if (s->http)
        return 0;
    close(fd);
    return -1;
}

/* The page can be opened before a store has been read. */
static void wait_for_store(struct live *l)
{
    live_begin(l);
    live_end(l, patience);
    if (l->reading)
        log_warn("reading %s takes long; the page shows its runs when that is "
                 "done",
                 l->path);
    else if (l->problem.kind)
        log_warn("%s", l->problem.text);
}

int serve_run(const struct serve_conf *c, struct err *e)
{
    struct serve s = { .conf = c,
                       .site = { .store =
                                     xcalloc(c->n_stores, sizeof(struct live)),
                                 .n_stores = c->n_stores,
                                 .edit = c->edit } };
    struct keeper keeper;
    char *redirect = NULL;
    int ret;

    for (size_t i = 0; i < c->n_stores; i++)
        live_open(&s.site.store[i], c->stores[i], c->flags);
    s.poll = xcalloc(c->n_stores + 1, sizeof *s.poll);
    ret = open_http(&s, e);
    if (ret == 0) {
        if (c->open)
            redirect = write_redirect(s.url);
        open_browser(redirect);
        keep_file(&keeper, redirect ? redirect : c->socket);
        track_confine_stores(c->stores, c->edit ? c->n_stores : 0, false);
        for (size_t i = 0; i < c->n_stores; i++)
            wait_for_store(&s.site.store[i]);
        sig_watch();
        printf("%s\n", s.url); /* style: own */
        fflush(stdout);
        while (!sig_caught())
            serve_once(&s);
        http_server_close(s.http);
        end_keeper(&keeper);
    }
    if (!is_reading(&s)) { /* a slow disk shall not delay the end */
        site_clear(&s.site);
        free(s.site.store);
    }
    FREE(s.poll, s.url);
    return ret;
}
