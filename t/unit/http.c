/*
 * http - requests to a server that misbehaves as told (t/lib/httpd.pl)
 */
#include "config.h"
#include "common/http/http.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "t/lib/tap.h"

static char folder[] = "/tmp/http.XXXXXX";
static int hold = -1; /* the server's standard input */
static pid_t server;
static int port;
static struct http *http;

/* The server in a process of its own: 0, or -1 without perl. */
static int start_server(void)
{
    const char *top = getenv("top_srcdir");
    char *script = xasprintf("%s/t/lib/httpd.pl", top ? top : "..");
    char *log = path_join(folder, "log");
    int in[2], out[2];
    FILE *fp;

    if (pipe(in) < 0 || pipe(out) < 0)
        return -1;
    server = fork();
    if (server == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        execlp("perl", "perl", script, folder, log, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    hold = in[1];
    fp = fdopen(out[0], "r");
    if (!fp || fscanf(fp, "%d", &port) != 1)
        port = 0;
    if (fp)
        fclose(fp);
    free(script);
    free(log);
    return port ? 0 : -1;
}

static void put(const char *name, const char *text, size_t n)
{
    char *path = path_join(folder, name);
    FILE *fp = fopen(path, "w");

    if (fp) {
        fwrite(text, 1, n, fp);
        fclose(fp);
    }
    free(path);
}

/* The last line that the server logged. */
static const char *logged(void)
{
    static char line[4096];
    char *path = path_join(folder, "log");
    struct buf text = BUF_INIT;
    struct err e = { 0 };
    const char *last;

    line[0] = '\0';
    if (buf_read_file(&text, path, 1 << 20, &e) == 0 && text.len) {
        buf_trim(&text, text.len - 1);
        last = strrchr(text.s, '\n');
        snprintf(line, sizeof line, "%s", last ? last + 1 : text.s);
    }
    buf_clear(&text);
    free(path);
    return line;
}

static int call(struct http_call c, const char *path, struct http_reply *r,
                struct err *e)
{
    char *url = xasprintf("http://127.0.0.1:%d%s", port, path);
    int ret;

    c.url = url;
    *e = (struct err){ 0 };
    ret = http_do(http, &c, r, e);
    free(url);
    return ret;
}

static void requests(void)
{
    static const char *const headers[] = { "X-Mine: 1", NULL };
    struct http_reply r = HTTP_REPLY_INIT;
    struct err e;
    char *path = path_join(folder, "file");
    int fd;

    put("file", "0123456789", 10);
    ok(call((struct http_call){ 0 }, "/plain/file", &r, &e) == 0 &&
           r.status == 200 && strcmp(r.body.s, "0123456789") == 0 &&
           r.size == 10 && strcmp(r.tag, "\"v1\"") == 0,
       "GET returns status, body, size and tag");
    ok(call((struct http_call){ .body = "a=1", .len = 3, .header = headers },
            "/plain/file", &r, &e) == 0 &&
           strcmp(r.body.s, "ok") == 0 &&
           strcmp(logged(), "POST /plain/file - - a=1") == 0,
       "POST sends a body and headers");
    ok(call((struct http_call){ .method = "PATCH", .body = "x", .len = 1 },
            "/plain/file", &r, &e) == 0 &&
           strcmp(logged(), "PATCH /plain/file - - x") == 0,
       "another method than GET and POST is sent");
    fd = open(path, O_RDONLY);
    ok(call((struct http_call){ .method = "PUT", .fd = fd, .len = 10 },
            "/flaky/file", &r, &e) == 0 &&
           r.tries == 3 &&
           strcmp(logged(), "PUT /flaky/file - - 0123456789") == 0,
       "PUT sends a whole file again after 503");
    ok(call((struct http_call){ .method = "PUT", .fd = fd, .len = 11 },
            "/plain/file", &r, &e) < 0,
       "a file that is shorter than announced is an error");
    close(fd);
    ok(call((struct http_call){ .from = 4 }, "/plain/file", &r, &e) == 0 &&
           r.status == 206 && strcmp(r.body.s, "456789") == 0 && r.size == 10,
       "GET from a position returns the rest");
    ok(call((struct http_call){ .from = 4 }, "/norange/file", &r, &e) == 0 &&
           strcmp(r.body.s, "456789") == 0,
       "GET from a position works without ranges in the server");
    ok(call((struct http_call){ .max = 9 }, "/plain/file", &r, &e) < 0 &&
           strstr(e.text, "too long"),
       "a reply that is too long is an error");
    free(path);
    http_reply_clear(&r);
}

static void failures(void)
{
    struct http_reply r = HTTP_REPLY_INIT;
    struct err e;
    int gone;

    ok(call((struct http_call){ 0 }, "/gone/file", &r, &e) < 0 &&
           e.kind == ERR_REMOTE && r.status == 404 && r.tries == 1 &&
           strstr(e.text, "404: no such file"),
       "status 404 is final and its text is quoted");
    ok(call((struct http_call){ .body = "x", .len = 1, .once = true },
            "/flaky/b/file", &r, &e) == 0 &&
           r.tries == 3,
       "status 503 is tried again");
    ok(call((struct http_call){ .once = true }, "/once/b/file", &r, &e) == 0,
       "a short reply is complete");
    ok(call((struct http_call){ 0 }, "/busy/file", &r, &e) < 0 &&
           strstr(e.text, "asked to wait 1000 s"),
       "a server that asks for too long a wait is an error");
    gone = port;
    port = 1;
    ok(call((struct http_call){ 0 }, "/x", &r, &e) < 0 &&
           e.kind == ERR_REMOTE && r.tries == 3 && r.status == 0,
       "a server that does not answer is ERR_REMOTE after all tries");
    port = gone;
    raise(SIGUSR1);
    ok(call((struct http_call){ 0 }, "/plain/file", &r, &e) < 0 &&
           e.kind == ERR_INTERRUPTED,
       "a signal interrupts a request");
    sig_reset();
    http_reply_clear(&r);
}

static void credentials(void)
{
    struct http_reply r = HTTP_REPLY_INIT;
    struct err e;

    ok(call((struct http_call){ .user = "api", .password = "key" },
            "/plain/file", &r, &e) == 0 &&
           strstr(logged(), "Basic YXBpOmtleQ=="),
       "user and password are sent");
    ok(call((struct http_call){ .bearer = "secret" }, "/plain/file", &r, &e) ==
               0 &&
           strstr(logged(), "Bearer secret"),
       "a bearer token is sent");
    ok(call((struct http_call){ .bearer = "secret" }, "/away/file", &r, &e) ==
               0 &&
           strcmp(r.body.s, "0123456789") == 0 && !strstr(logged(), "secret"),
       "a token is not sent to another host after a redirect");
    ok(call((struct http_call){ .user = "api", .password = "key" },
            "/away/file", &r, &e) == 0 &&
           !strstr(logged(), "Basic"),
       "a password is not sent to another host after a redirect");
    ok(call((struct http_call){ .body = "x", .len = 1, .stay = true },
            "/away/file", &r, &e) < 0 &&
           e.kind == ERR_REMOTE && strstr(e.text, "redirects to http://") &&
           !strstr(logged(), "plain"),
       "a call that must stay with its host follows no redirect: %s", e.text);
    http_reply_clear(&r);
}

struct taken {
    struct buf text;
    size_t enough;
};

static bool take(void *arg, const void *data, size_t n)
{
    struct taken *t = arg;

    buf_add(&t->text, data, n);
    return !t->enough || t->text.len < t->enough;
}

static void sinks(void)
{
    static const char *const ways[] = { "/plain/big", "/once/big", "/cut/big",
                                        "/flaky/big" };
    struct http_reply r = HTTP_REPLY_INIT;
    char *big = xmalloc(7000);
    struct taken t = { BUF_INIT, 0 };
    struct err e;

    for (int i = 0; i < 7000; i++)
        big[i] = (char)('a' + i * i % 23);
    put("big", big, 7000);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        buf_trim(&t.text, 0);
        ok(call((struct http_call){ .sink = take, .arg = &t }, ways[i], &r,
                &e) == 0 &&
               t.text.len == 7000 && !r.stopped &&
               memcmp(t.text.s, big, 7000) == 0 && r.size == 7000,
           "a sink sees each byte once: %s", ways[i]);
    }
    buf_trim(&t.text, 0);
    ok(call((struct http_call){ .sink = take, .arg = &t }, "/changing/big", &r,
            &e) < 0 &&
           r.changed,
       "a file that changes between tries is reported");
    buf_trim(&t.text, 0);
    t.enough = 10;
    ok(call((struct http_call){ .sink = take, .arg = &t }, "/plain/big", &r,
            &e) == 0 &&
           r.stopped && e.kind == ERR_NONE,
       "a sink may stop a transfer");
    buf_clear(&t.text);
    free(big);
    http_reply_clear(&r);
}

static void words(void)
{
    char *host = http_host("https://me:pw@Host.Example:8080/x?y");

    ok(host && strcmp(host, "host.example") == 0, "http_host() finds the host");
    free(host);
    host = http_host("no url at all");
    ok(!host, "http_host() finds none in other texts");
    free(host);
}

int main(void)
{
    const struct http_conf conf = { .tries = 3, .wait = 0.001, .stall = 10 };
    struct err e = { 0 };

    setenv("no_proxy", "127.0.0.1,localhost", 1);
    unsetenv("http_proxy");
    sig_watch();
    if (!freopen("/dev/null", "w", stderr) || !mkdtemp(folder))
        return 1;
    http = http_open(&conf, &e);
    words();
    if (start_server() < 0) {
        skip("no perl", "requests are answered by a server");
    } else {
        requests();
        failures();
        credentials();
        sinks();
    }
    close(hold);
    if (server > 0)
        waitpid(server, NULL, 0);
    http_close(http);
    path_remove(folder, &e);
    return done_testing();
}
