/*
 * gdata fetch - download corpora, to disk or directly to shards
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
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
#include "common/spawn.h"
#include "common/output/table.h"
#include "data/corpus/fetch.h"

static const char *output, *subset, *shards = "0", *mirror, *sha256;
static const char *tokenizer, *tokens, *val, *format, *shard_tokens,
    *mark_every;
static bool stream, list;
static struct http_conf network = { .name_tries = DOWNLOAD_NAME_TRIES };
static struct table_style style;

static const struct opt fetch_opts[] = {
    { 'o', "output", "path", OPT_STRING, &output,
      "save files in the folder PATH (default: data); with -T, the prefix of "
      "shards" },
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
    { 0, "stream", NULL, OPT_FLAG, &stream,
      "write to standard output, or to gdata encode with -T" },
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer,
      "with --stream, encode with this tokenizer, and save shards" },
    { 0, "tokens", "count", OPT_STRING, &tokens,
      "with --tokenizer, stop after COUNT tokens" },
    { 0, "val", "share", OPT_STRING, &val,
      "with --tokenizer, as for gdata encode" },
    { 0, "format", "name", OPT_STRING, &format,
      "with --tokenizer, as for gdata encode" },
    { 0, "shard-tokens", "count", OPT_STRING, &shard_tokens,
      "with --tokenizer, as for gdata encode" },
    { 0, "mark-every", "time", OPT_STRING, &mark_every,
      "with --tokenizer, as for gdata encode" },
    DOWNLOAD_OPTS(network),
    TABLE_OPTS(style),
    { 0 }
};

struct bar {
    struct progress p;
    const char *file;
    bool open;
    double start;
    int64_t first, shown;
};

static void show_progress(void *arg, int64_t now, int64_t total)
{
    enum { MB = 1000000 };
    struct bar *b = arg;
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

/* Two files with one name would be one file on disk. */
static int check_names(const struct catalog_links *l, struct err *e)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(l->link[i].file, l->link[k].file) == 0 &&
                strcmp(l->link[i].url, l->link[k].url) != 0)
                return err_set(e, ERR_USAGE,
                               "%s and %s have the same name; fetch them to "
                               "different folders with -o",
                               l->link[k].url, l->link[i].url);
    return 0;
}

static int fetch_all(const struct download *d, const struct catalog_links *l,
                     const char *folder, struct bar *bar, struct err *e)
{
    struct table t = TABLE_INIT("gdata.fetch/1");
    int ret = check_names(l, e);

    table_columns(&t, "file", "size", "sha256", NULL);
    for (size_t i = 0; i < l->n && ret == 0; i++) {
        char *path = path_join(folder, l->link[i].file);
        struct fetched got;

        bar->file = l->link[i].file;
        ret = fetch_file(d, &l->link[i], path, &got, e);
        close_bar(bar);
        if (ret == 0) {
            log_info("%s %s", path,
                     got.existed ? "exists already" : "is complete");
            table_text(&t, path);
            table_bytes(&t, got.size);
            table_text(&t, got.sha256);
        }
        free(path);
    }
    if (ret == 0 && log_shows(LOG_INFO))
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int pipe_all(const struct download *d, const struct catalog_links *l,
                    int fd, struct bar *bar, struct err *e)
{
    bool closed = false;
    int ret = 0;

    for (size_t i = 0; i < l->n && ret == 0 && !closed; i++) {
        bar->file = l->link[i].file;
        ret = download_pipe(d, l->link[i].url, 0, fd, &closed, e);
        close_bar(bar);
    }
    return ret;
}

/* Become gdata encode, which reads URLs. */
static int encode_all(const struct catalog_links *l, struct err *e)
{
    char *tries = xasprintf("%d", network.tries);
    char *wait = xasprintf("%.17gs", network.wait);
    char *stall = xasprintf("%.17gs", network.stall);
    const struct {
        const char *option, *value;
    } passed[] = {
        { "--tokenizer", tokenizer },
        { "--tokens", tokens },
        { "--val", val },
        { "--format", format },
        { "--output", output },
        { "--shard-tokens", shard_tokens },
        { "--mark-every", mark_every },
        { "--tries", network.tries > 0 ? tries : NULL },
        { "--wait", network.wait > 0 ? wait : NULL },
        { "--stall", network.stall > 0 ? stall : NULL },
    };
    enum { PASSED = sizeof passed / sizeof passed[0] };
    const char **argv = xcalloc(2 * PASSED + l->n + 6, sizeof *argv);
    char *program = spawn_find("gdata", e);
    size_t n = 0;

    argv[n++] = "gdata";
    argv[n++] = "encode";
    for (int i = 0; i < PASSED; i++)
        if (passed[i].value) {
            argv[n++] = passed[i].option;
            argv[n++] = passed[i].value;
        }
    argv[n++] = "--input";
    argv[n++] = "jsonl";
    if (!log_shows(LOG_INFO))
        argv[n++] = "--quiet";
    for (size_t i = 0; i < l->n; i++)
        argv[n++] = l->link[i].url;
    if (program) {
        execv(program, (char *const *)(const void *)argv);
        err_sys(e, "cannot start gdata encode");
    }
    free(program);
    free(argv);
    free(tries);
    free(wait);
    free(stall);
    return -1;
}

static int parse_shards(struct catalog_query *q, struct err *e)
{
    const char *dash = strchr(shards, '-');
    char *first =
        xstrndup(shards, dash ? (size_t)(dash - shards) : strlen(shards));
    const bool good =
        num_int(first, &q->first) && num_int(dash ? dash + 1 : first, &q->last);

    free(first);
    if (!good)
        return err_set(e, ERR_USAGE,
                       "--shards expects a number or a range such as 0-9, not "
                       "'%s'",
                       shards);
    return 0;
}

static int check_options(int argc, struct err *e)
{
    const bool passes = tokens || val || format || shard_tokens || mark_every;

    if (!argc)
        return err_set(
            e, ERR_USAGE,
            "name what to download: c4, fineweb-edu, tinyshakespeare, "
            "gpt2-vocab, hellaswag or a URL");
    if (tokenizer && !stream)
        return err_set(e, ERR_USAGE, "--tokenizer needs --stream");
    if (passes && !tokenizer)
        return err_set(e, ERR_USAGE,
                       "--tokens, --val, --format, --shard-tokens and "
                       "--mark-every need --tokenizer");
    if (tokenizer && !output)
        return err_set(e, ERR_USAGE, "name the output with -o PREFIX");
    return 0;
}

static int fetch_links(const struct catalog_links *l, struct err *e)
{
    const char *folder = stream ? NULL : output ? output : "data";
    struct bar bar = { .open = false };
    struct download d = { .token = getenv("HF_TOKEN"),
                          .progress = show_progress,
                          .arg = &bar };
    int ret;

    if (folder && path_make(folder, e) < 0)
        return -1;
    confine(&folder, 1, true);
    d.http = http_open(&network, e);
    if (!d.http)
        return -1;
    if (folder)
        ret = fetch_all(&d, l, folder, &bar, e);
    else
        ret = pipe_all(&d, l, STDOUT_FILENO, &bar, e);
    http_close(d.http);
    return ret;
}

static int fetch_main(int argc, char **argv, struct err *e)
{
    struct catalog_links l = { 0 };
    struct catalog_query q = { .subset = subset, .mirror = mirror };
    int ret = check_options(argc, e);

    if (ret == 0)
        ret = parse_shards(&q, e);
    for (int i = 0; i < argc && ret == 0; i++) {
        q.name = argv[i];
        ret = catalog_find(&l, &q, e);
    }
    if (ret == 0 && sha256 && !sha256_is_text(sha256))
        ret = err_set(e, ERR_USAGE,
                      "--sha256 expects 64 hexadecimal digits in lower case, "
                      "not '%s'",
                      sha256);
    if (ret == 0 && sha256) {
        if (l.n != 1)
            ret =
                err_set(e, ERR_USAGE, "--sha256 needs one file, not %zu", l.n);
        else
            l.link[0].sha256 = sha256;
    }
    sig_watch();
    if (ret == 0 && list)
        for (size_t i = 0; i < l.n && ret == 0; i++)
            ret = pager_print(e, "%s\n", l.link[i].url);
    else if (ret == 0)
        ret = tokenizer ? encode_all(&l, e) : fetch_links(&l, e);
    catalog_links_clear(&l);
    return ret;
}

const struct cmd cmd_fetch = {
    .name = "fetch",
    .args = "NAME|URL...",
    .help = "download corpora",
    .opts = fetch_opts,
    .run = fetch_main,
};
