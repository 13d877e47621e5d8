/*
 * gdata fetch - corpora from servers, to disk or straight to tokens
 */
#include "config.h"
#include "data/cmds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/progress.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "common/table.h"
#include "data/corpus/fetch.h"

static const char *output, *variant, *split, *shards = "0", *mirror, *sha256;
static const char *tokenizer, *tokens, *val, *format, *shard_tokens;
static bool stream, list;
static int tries = 6;
static double wait_first = 1, stall = 60;
static struct table_style style;

static const struct opt fetch_opts[] = {
    { 'o', "output", "path", OPT_STRING, &output,
      "save files in the folder PATH (data); with --tokenizer, the prefix of "
      "token files" },
    { 0, "shards", "range", OPT_STRING, &shards,
      "files of the split, as 7 or 0-9 (0)" },
    { 0, "split", "name", OPT_STRING, &split, "train, validation, ..." },
    { 0, "variant", "name", OPT_STRING, &variant, "of c4: en, realnewslike" },
    { 0, "mirror", "url", OPT_STRING, &mirror,
      "URL takes the place of https:// and host" },
    { 0, "sha256", "digits", OPT_STRING, &sha256, "what one file must have" },
    { 'l', "list", NULL, OPT_FLAG, &list, "print the URLs, fetch nothing" },
    { 0, "stream", NULL, OPT_FLAG, &stream,
      "save nothing: print the bytes, or pass them to gdata encode" },
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer,
      "with --stream: encode with this tokenizer, save tokens alone" },
    { 0, "tokens", "count", OPT_STRING, &tokens,
      "with --tokenizer: stop when there are COUNT tokens" },
    { 0, "val", "share", OPT_STRING, &val, "as for gdata encode" },
    { 0, "format", "name", OPT_STRING, &format, "as for gdata encode" },
    { 0, "shard-tokens", "count", OPT_STRING, &shard_tokens,
      "as for gdata encode" },
    { 0, "tries", "count", OPT_INT, &tries,
      "give up when COUNT tries in a row bring nothing (6)" },
    { 0, "wait", "time", OPT_SECS, &wait_first,
      "wait TIME after the first, then twice as long (1s)" },
    { 0, "stall", "time", OPT_SECS, &stall,
      "a try ends when nothing comes for TIME (60s)" },
    TABLE_OPTS(style),
    { 0 }
};

/* The bar */

struct bar {
    struct progress p;
    const char *file;
    bool open;
    double start;
    int64_t first, shown;
};

static void moved(void *arg, int64_t now, int64_t total)
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
        return; /* small files come without a bar */
    if (!b->open)
        progress_open(&b->p, (long)(b->first / MB),
                      total > 0 ? (long)(total / MB) : 0, "MB");
    b->open = true;
    b->shown = now;
    snprintf(text, sizeof text, "%s  %s/s", b->file,
             num_bytes(rate, (double)(now - b->first) / (time - b->start)));
    progress_at(&b->p, (long)(now / MB), text);
}

static void bar_done(struct bar *b)
{
    if (b->open)
        progress_close(&b->p);
    b->open = false;
    b->start = 0;
}

/* To disk */

static int fetch_all(const struct fetch *f, const struct catalog_links *l,
                     struct bar *bar, struct err *e)
{
    const char *folder = output ? output : "data";
    struct table t = TABLE_INIT("gdata.fetch/1");
    int ret = path_make(folder, e);

    table_column(&t, "file");
    table_column(&t, "size");
    table_column(&t, "sha256");
    for (size_t i = 0; i < l->n && ret == 0; i++) {
        char *path = path_join(folder, l->link[i].file);
        struct fetched got;

        bar->file = l->link[i].file;
        ret = fetch_file(f, &l->link[i], path, &got, e);
        bar_done(bar);
        if (ret == 0) {
            log_info("%s %s", path,
                     got.was_there ? "is there already" : "is complete");
            table_text(&t, path);
            table_bytes(&t, got.size);
            table_text(&t, got.sha256);
        }
        free(path);
    }
    if (ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

/* To a reader */

extern char **environ;

static int start_encode(pid_t *pid, int in, struct err *e)
{
    const struct {
        const char *option, *value;
    } passed[] = {
        { "--tokenizer", tokenizer },
        { "--tokens", tokens },
        { "--val", val },
        { "--format", format },
        { "--output", output },
        { "--shard-tokens", shard_tokens },
    };
    enum { PASSED = sizeof passed / sizeof passed[0] };
    const char *argv[2 * PASSED + 6] = { "gdata", "encode" };
    char *program = spawn_find("gdata", e);
    posix_spawn_file_actions_t files;
    size_t n = 2;
    int sys;

    if (!program)
        return -1;
    for (int i = 0; i < PASSED; i++)
        if (passed[i].value) {
            argv[n++] = passed[i].option;
            argv[n++] = passed[i].value;
        }
    argv[n++] = "--input";
    argv[n++] = "jsonl";
    argv[n++] = "-";
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    sys = posix_spawn(pid, program, &files, NULL,
                      (char *const *)(const void *)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    free(program);
    if (sys) {
        errno = sys;
        return err_sys(e, "cannot start gdata encode");
    }
    return 0;
}

static int pipe_all(const struct fetch *f, const struct catalog_links *l,
                    int fd, struct bar *bar, struct err *e)
{
    bool closed = false;
    int ret = 0;

    for (size_t i = 0; i < l->n && ret == 0 && !closed; i++) {
        bar->file = l->link[i].file;
        ret = fetch_pipe(f, &l->link[i], fd, &closed, e);
        bar_done(bar);
    }
    return ret;
}

/* Its own error was printed; ours says that there was one. */
static int wait_encode(pid_t pid, struct err *e)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(e, "cannot wait for gdata encode");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (e->kind != ERR_NONE)
        return -1;
    return err_set(e, ERR_INPUT, "gdata encode failed");
}

static int encode_all(const struct fetch *f, const struct catalog_links *l,
                      struct bar *bar, struct err *e)
{
    int fd[2], ret;
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return err_sys(e, "cannot make a pipe");
    fcntl(fd[1], F_SETPIPE_SZ, 1 << 20);
    ret = start_encode(&pid, fd[0], e);
    close(fd[0]);
    if (ret < 0) {
        close(fd[1]);
        return -1;
    }
    ret = pipe_all(f, l, fd[1], bar, e);
    if (ret < 0)
        kill(pid, SIGTERM); /* it has not seen the end */
    close(fd[1]);
    return wait_encode(pid, e) < 0 ? -1 : ret;
}

/* What was asked for */

static int parse_shards(struct catalog_ask *ask, struct err *e)
{
    const char *dash = strchr(shards, '-');
    char *first =
        xstrndup(shards, dash ? (size_t)(dash - shards) : strlen(shards));
    const bool good = num_int(first, &ask->first) &&
                      num_int(dash ? dash + 1 : first, &ask->last);

    free(first);
    if (!good)
        return err_set(e, ERR_USAGE, "--shards %s: a number, or two as 0-9",
                       shards);
    return 0;
}

static int check(int argc, struct err *e)
{
    const bool passes = tokens || val || format || shard_tokens;

    if (!argc)
        return err_set(e, ERR_USAGE,
                       "fetch what? c4, tinyshakespeare, "
                       "gpt2-vocab, hellaswag or a URL");
    if (tokenizer && !stream)
        return err_set(e, ERR_USAGE, "--tokenizer goes with --stream");
    if (passes && !tokenizer)
        return err_set(e, ERR_USAGE,
                       "--tokens, --val, --format and "
                       "--shard-tokens go with --stream --tokenizer");
    if (tokenizer && !output)
        return err_set(e, ERR_USAGE, "where to? -o PREFIX");
    return 0;
}

static int run(const struct catalog_links *l, struct err *e)
{
    const struct http_conf conf = { .tries = tries > 0 ? tries : 1,
                                    .wait = wait_first,
                                    .stall = stall };
    struct bar bar = { .open = false };
    struct fetch f = { .http = http_open(&conf, e),
                       .token = getenv("HF_TOKEN"),
                       .moved = moved,
                       .arg = &bar };
    int ret;

    if (!f.http)
        return -1;
    if (!stream)
        ret = fetch_all(&f, l, &bar, e);
    else if (tokenizer)
        ret = encode_all(&f, l, &bar, e);
    else
        ret = pipe_all(&f, l, STDOUT_FILENO, &bar, e);
    http_close(f.http);
    return ret;
}

static int fetch_main(int argc, char **argv, struct err *e)
{
    struct catalog_links l = CATALOG_LINKS_INIT;
    struct catalog_ask ask = { .variant = variant,
                               .split = split,
                               .mirror = mirror };
    int ret = check(argc, e);

    if (ret == 0)
        ret = parse_shards(&ask, e);
    for (int i = 0; i < argc && ret == 0; i++) {
        ask.name = argv[i];
        ret = catalog_find(&l, &ask, e);
    }
    if (ret == 0 && sha256) {
        if (l.n != 1)
            ret =
                err_set(e, ERR_USAGE, "--sha256 is for one file, not %zu", l.n);
        else
            l.link[0].sha256 = sha256;
    }
    sig_watch();
    if (ret == 0 && list)
        for (size_t i = 0; i < l.n; i++)
            puts(l.link[i].url);
    else if (ret == 0)
        ret = run(&l, e);
    catalog_links_clear(&l);
    return ret;
}

const struct cmd cmd_fetch = {
    .name = "fetch",
    .args = "NAME|URL...",
    .help = "get corpora from servers",
    .opts = fetch_opts,
    .run = fetch_main,
};
