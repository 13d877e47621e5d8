/*
 * gdata fetch - download corpora
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/confine.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/output/pager.h"
#include "common/output/progress.h"
#include "common/sig.h"
#include "common/output/table.h"
#include "common/buf.h"
#include "common/err.h"
#include "common/save.h"
#include "common/sha256.h"
#include "data/corpus/catalog.h"
#include "data/corpus/corpus_files.h"
#include "data/corpus/source/download.h"
#include "data/corpus/source/source.h"

/*
 * fetch - download a file, resuming after interruptions
 *
 * The part received so far is in FILE.part, which is locked; the tag of its
 * version, its size and its SHA-256 are in FILE.part.tag.  The next try, also
 * by another process, requests the rest.  When the file is complete, its size,
 * its SHA-256 (if known) and the checksums of gzip are verified, and that it is
 * not an HTML page in place of a corpus; then it gets its name.  A file that
 * exists already is not downloaded; only its SHA-256 is verified, if known.
 */
struct fetched {
    int64_t size;
    char sha256[SHA256_TEXT];
    bool existed;
};

enum {
    STATE_MAX = 4096,
    STATE_EVERY = 32 << 20, /* bytes that a kill may cost */
};

struct bar {
    struct progress p;
    const char *file;
    bool open;
    double start;
    int64_t first, shown;
};

static void show_progress(struct bar *b, int64_t now, int64_t total)
{
    enum { MB = 1000000 };
    const double time = clock_mono();
    char rate[NUM_TEXT], text[128];

    if (b->start <= 0) {
        b->start = time;
        b->first = b->shown = now;
    }
    if (time - b->start < 1 || now - b->shown < MB)
        return; /* no bar for small files */
    if (!b->open)
        progress_open(&b->p, (long)(b->first / MB),
                      total > 0 ? (long)(total / MB) : 0, "MB");
    b->open = true;
    b->shown = now;
    snprintf(text, sizeof text, "%s  %s/s", b->file,
             num_bytes(rate, (double)(now - b->first) / (time - b->start)));
    progress_at(&b->p, (long)(now / MB), text);
}

static void close_bar(struct bar *b)
{
    if (b->open)
        progress_close(&b->p);
    b->open = false;
    b->start = 0;
}

/* The first bytes of a file, in FILE.part, which is locked. */
struct part {
    int fd;
    int64_t at;        /* as many bytes are right */
    struct sha256 sum; /* of these bytes */
    char *path, *state;
    struct buf tag; /* of the version that they belong to */
    int64_t saved;
    const struct http_reply *reply;
    struct bar *bar;
    struct err e; /* why writing failed */
};

static void part_begin(struct part *p)
{
    p->at = p->saved = 0;
    sha256_init(&p->sum);
    unlink(p->state);
}

/* Without a tag, the rest could be that of another version. */
static int save_state(struct part *p, const char *tag, struct err *e)
{
    char sum[SHA256_TEXT];
    struct save s = { 0 };

    p->saved = p->at;
    if (!tag)
        return 0;
    if (fdatasync(p->fd) < 0)
        return err_sys(e, "cannot write %s", p->path);
    if (save_open(&s, p->state, e) < 0)
        return -1;
    sha256_text(&p->sum, sum);
    fprintf(s.fp, "%s\n%lld %s\n", tag, (long long)p->at, sum);
    return save_commit(&s, e);
}

/* Hash the first n bytes on the disk; false if there are fewer. */
static bool add_bytes(struct part *p, int64_t n)
{
    AUTO_FREE char *buf = xmalloc(1 << 18);
    ssize_t got = 1;

    while (p->at < n && got > 0) {
        const int64_t rest = n - p->at;

        got = pread(p->fd, buf, rest < 1 << 18 ? (size_t)rest : 1 << 18, p->at);
        if (got > 0)
            sha256_add(&p->sum, buf, (size_t)got);
        p->at += got > 0 ? got : 0;
    }
    return p->at == n;
}

/* Find out how many bytes are left of an earlier try. */
static void load_state(struct part *p)
{
    char want[SHA256_TEXT], sum[SHA256_TEXT], *line;
    long long n = 0;

    sha256_init(&p->sum);
    if (buf_read_file(&p->tag, p->state, STATE_MAX, ERR_IGNORED) < 0)
        return;
    line = strchr(p->tag.s, '\n');
    if (!line || sscanf(line, "%lld %64s", &n, want) != 2) {
        part_begin(p);
        return;
    }
    *line = '\0';
    if (add_bytes(p, n))
        sha256_text(&p->sum, sum);
    if (p->at != n || strcmp(sum, want) != 0) {
        log_warn("%s is damaged; starting again", p->path);
        part_begin(p);
    }
    p->saved = p->at;
}

static int part_open(struct part *p, const char *path, struct err *e)
{
    p->path = xasprintf("%s.part", path);
    p->state = xasprintf("%s.part.tag", path);
    p->fd = filelock_open(p->path, 0666, e);
    if (p->fd < 0)
        return e->kind == ERR_BUSY
                   ? err_set(e, ERR_BUSY, "another gdata fetch is writing %s",
                             path)
                   : -1;
    load_state(p);
    return 0;
}

/* The part is left for a later try if something is known of it. */
static void part_close(struct part *p)
{
    if (p->fd >= 0 && filelock_is_at(p->fd, p->path) && !path_exists(p->state))
        unlink(p->path);
    if (p->fd >= 0)
        close(p->fd);
    buf_clear(&p->tag);
    FREE(p->path, p->state);
}

static bool write_part(void *arg, const void *data, size_t n)
{
    struct part *p = arg;

    for (size_t done = 0; done < n;) {
        const ssize_t put = write(p->fd, (const char *)data + done, n - done);

        if (put < 0 && errno != EINTR) {
            err_sys(&p->e, "cannot write %s", p->path);
            return false;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    p->at += (int64_t)n;
    show_progress(p->bar, p->at, p->reply->size);
    sha256_add(&p->sum, data, n);
    return p->at - p->saved < STATE_EVERY ||
           save_state(p, p->reply->tag, &p->e) == 0;
}

/* Download the part that is missing: 0, -1, or 1 if the file on the server has
 * changed and must be downloaded from its beginning. */
static int fetch_part(struct http *http, const struct catalog_link *link,
                      struct part *p, struct err *e)
{
    AUTO(http_reply_clear) struct http_reply reply = HTTP_REPLY_INIT;
    struct http_call call = { .url = link->url,
                              .from = p->at,
                              .tag = p->at ? p->tag.s : NULL,
                              .sink = write_part,
                              .arg = p };
    struct err why = { 0 };
    int ret;

    if (ftruncate(p->fd, p->at) < 0 || lseek(p->fd, p->at, SEEK_SET) < 0)
        return err_sys(e, "cannot write %s", p->path);
    if (call.from)
        log_info("%s: resuming after %lld bytes", link->file,
                 (long long)call.from);
    p->reply = &reply;
    ret = download_call(http, &call, &reply, &why);
    if (fsync(p->fd) < 0 && p->e.kind == ERR_NONE)
        err_sys(&p->e, "cannot write %s", p->path);
    if (p->e.kind != ERR_NONE) {
        *e = p->e;
        ret = -1;
    } else if (ret < 0 && reply.changed) {
        part_begin(p);
        ret = 1;
    } else if (ret == 0 && reply.size >= 0 && p->at != reply.size) {
        ret = err_set(e, ERR_REMOTE, "%s: received %lld bytes instead of %lld",
                      link->url, (long long)p->at, (long long)reply.size);
    } else if (ret == 0 && (reply.status == 202 || reply.status == 204)) {
        part_begin(p);
        ret = err_set(e, ERR_REMOTE,
                      "%s: the server has no file yet (status %ld)", link->url,
                      reply.status);
    } else if (ret < 0) {
        *e = why;
    }
    if (ret < 0 && p->e.kind == ERR_NONE && p->at > p->saved)
        save_state(p, reply.tag, &why);
    return ret;
}

/* A server may send the page of a login or of an error with a status of
 * success. */
static int check_kind(const char *name, const char *coding, const char *data,
                      size_t n, struct err *e)
{
    const bool known = corpus_files_format(name) != CORPUS_AUTO;
    const bool compressed = corpus_files_compressed(name);

    if ((known || compressed) && !*coding && magic_is_html(data, n))
        return err_input(e, "the server sent an HTML page instead");
    if (compressed && !*coding)
        return err_input(e, "the file is not compressed");
    return 0;
}

/* Check that a file is what its name says, and inflate it once if it is
 * compressed, to verify its checksums. */
static int check_content(const char *path, const char *name, struct err *e)
{
    AUTO_FREE char *buf = xmalloc(1 << 18);
    struct source *s;
    ssize_t got;

    if (source_open(&s, path, -1, NULL, e) < 0)
        return -1;
    got = source_read(s, buf, 1 << 18, e);
    if (got >= 0 && check_kind(name, source_coding(s), buf, (size_t)got, e) < 0)
        got = -1;
    while (got > 0 && *source_coding(s))
        got = source_read(s, buf, 1 << 18, e);
    source_close(s);
    return got < 0 ? -1 : 0;
}

static int check_sum(const struct catalog_link *link, const struct fetched *f,
                     const char *path, struct err *e)
{
    if (!link->sha256 || strcmp(link->sha256, f->sha256) == 0)
        return 0;
    return err_input(e, "%s: the SHA-256 is %s instead of %s", path, f->sha256,
                     link->sha256);
}

/* The file on the disk is checked, not what was received. */
static int finish_file(const struct catalog_link *link, struct part *p,
                       const char *path, struct fetched *out, struct err *e)
{
    char sum[SHA256_TEXT];
    int ret;

    if (sha256_file(p->path, out->sha256, &out->size, e) < 0)
        return -1;
    sha256_text(&p->sum, sum);
    ret = strcmp(sum, out->sha256) == 0
              ? check_sum(link, out, link->url, e)
              : err_input(e,
                          "%s is not what was received; check the disk, and "
                          "that no other program writes to it",
                          p->path);
    if (ret < 0 || check_content(p->path, link->file, e) < 0) {
        unlink(p->state); /* there is no use in resuming */
        return e->kind == ERR_INPUT ? err_wrap(e, "%s is damaged", link->file)
                                    : -1;
    }
    if (rename(p->path, path) < 0)
        return err_sys(e, "cannot rename %s", p->path);
    unlink(p->state);
    return 0;
}

static int fetch_new(struct http *http, const struct catalog_link *link,
                     struct part *p, const char *path, struct fetched *out,
                     struct err *e)
{
    int ret = fetch_part(http, link, p, e);

    if (ret > 0) {
        log_warn("%s: the file on the server has changed; starting again",
                 link->file);
        ret = fetch_part(http, link, p, e);
        if (ret > 0)
            ret =
                err_set(e, ERR_REMOTE,
                        "%s: the file on the server keeps changing", link->url);
    }
    return ret == 0 ? finish_file(link, p, path, out, e) : ret;
}

static int fetch_file(struct http *http, const struct catalog_link *link,
                      struct bar *bar, const char *path, struct fetched *out,
                      struct err *e)
{
    AUTO(part_close) struct part p = { .fd = -1, .bar = bar };
    int ret = 0;

    *out = (struct fetched){ .existed = path_exists(path) };
    if (!out->existed)
        ret = part_open(&p, path, e);
    /* another process may have completed it before we had the lock */
    if (ret == 0 && !out->existed)
        out->existed = path_exists(path);
    if (ret == 0 && out->existed)
        ret = sha256_file(path, out->sha256, &out->size, e) < 0
                  ? -1
                  : check_sum(link, out, path, e);
    else if (ret == 0)
        ret = fetch_new(http, link, &p, path, out, e);
    return ret;
}

static const char *output = "data", *subset, *shards = "0", *mirror, *sha256;
static bool list;
static struct http_conf network = { .name_tries = DOWNLOAD_NAME_TRIES };
static struct table_style style;

static const struct opt fetch_opts[] = {
    { 'o', "output", "path", OPT_STRING, &output,
      "save files in the folder PATH (default: data)" },
    { 0, "shards", "range", OPT_STRING, &shards,
      "download these files of a split, as in 7 or 0-9 (default: 0)" },
    { 0, "split", "name", OPT_STRING, &subset,
      "download this split, as in train (default: the first one)" },
    { 0, "mirror", "place", OPT_STRING, &mirror,
      "use a URL or a folder in place of https:// and the host name" },
    { 0, "sha256", "digits", OPT_STRING, &sha256,
      "verify that the file has this SHA-256" },
    { 'l', "list", NULL, OPT_FLAG, &list,
      "print the URLs, and download nothing" },
    DOWNLOAD_OPTS(network),
    TABLE_OPTS(style),
    { 0 }
};

/* Two files with one name would be one file on disk. */
static int check_names(const struct catalog_links *l, struct err *e)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(l->link[i].file, l->link[k].file) == 0 &&
                strcmp(l->link[i].url, l->link[k].url) != 0)
                return err_usage(e,
                                 "%s and %s have the same name; fetch them to "
                                 "different folders with -o",
                                 l->link[k].url, l->link[i].url);
    return 0;
}

static int parse_shards(struct catalog_query *q, struct err *e)
{
    const char *dash = strchr(shards, '-');
    AUTO_FREE char *first =
        xstrndup(shards, dash ? (size_t)(dash - shards) : strlen(shards));

    if (!num_int(first, &q->first) ||
        !num_int(dash ? dash + 1 : first, &q->last))
        return err_usage(
            e, "--shards expects a number or a range such as 0-9, not '%s'",
            shards);
    return 0;
}

static int fetch_all(const struct catalog_links *l, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gdata.fetch/1");
    struct bar bar = { .open = false };
    struct http *http;
    int ret = 0;

    if (check_names(l, e) < 0 || path_make(output, e) < 0)
        return -1;
    confine(&output, 1, true);
    http = http_open(&network, e);
    if (!http)
        return -1;
    table_columns(&t, "file", "size", "sha256", NULL);
    for (size_t i = 0; i < l->n && ret == 0; i++) {
        AUTO_FREE char *path = path_join(output, l->link[i].file);
        struct fetched got;

        bar.file = l->link[i].file;
        ret = fetch_file(http, &l->link[i], &bar, path, &got, e);
        close_bar(&bar);
        if (ret == 0) {
            log_info("%s %s", path,
                     got.existed ? "exists already" : "is complete");
            table_text(&t, path);
            table_bytes(&t, got.size);
            table_text(&t, got.sha256);
        }
    }
    if (ret == 0 && log_shows(LOG_INFO))
        ret = table_print(&t, &style, e);
    http_close(http);
    return ret;
}

static int fetch_main(int argc, char **argv, struct err *e)
{
    AUTO(catalog_links_clear) struct catalog_links l = { 0 };
    struct catalog_query q = { .subset = subset, .mirror = mirror };
    int ret = parse_shards(&q, e);

    if (ret == 0 && !argc)
        ret = err_set(
            e, ERR_USAGE,
            "name what to download: a URL, or a name such as fineweb-edu");
    for (int i = 0; i < argc && ret == 0; i++) {
        q.name = argv[i];
        ret = catalog_find(&l, &q, e);
    }
    if (ret == 0 && sha256 && !sha256_is_text(sha256))
        ret = err_usage(e,
                        "--sha256 expects 64 hexadecimal digits in lower case, "
                        "not '%s'",
                        sha256);
    else if (ret == 0 && sha256 && l.n != 1)
        ret = err_usage(e, "--sha256 needs one file, not %zu", l.n);
    else if (ret == 0 && sha256)
        l.link[0].sha256 = sha256;
    sig_watch();
    if (ret == 0 && list)
        for (size_t i = 0; i < l.n && ret == 0; i++)
            ret = pager_print(e, "%s\n", l.link[i].url);
    else if (ret == 0)
        ret = fetch_all(&l, e);
    return ret;
}

const struct cmd cmd_fetch = {
    .name = "fetch",
    .args = "NAME|URL...",
    .help = "download corpora",
    .opts = fetch_opts,
    .run = fetch_main,
};
