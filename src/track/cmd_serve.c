/*
 * gtrack serve - show runs in a browser, as they are being written
 */
#include "config.h"

#include <string.h>

#include "common/log.h"
#include "common/opt.h"
#include "track/runs/track.h"
#include "track/serve/serve.h"

static struct opt_list roots, hosts;
static const char *listen_text, *frozen_path, *token_file;
static int port;
static bool edit, open_page;

static const struct opt serve_opts[] = {
    { 'r', "root", "dir", OPT_LIST, &roots,
      "show this store (default: GTRACK_ROOT or mlruns); may be given many "
      "times" },
    TRACK_OPT_LINKS,
    { 'p', "port", "number", OPT_INT, &port,
      "listen on this port of 127.0.0.1 (default: a free one from 7979 on)",
      .range = { 0, 65535 } },
    { 0, "listen", "unix:path", OPT_STRING, &listen_text,
      "listen on a Unix socket instead, which only its owner can use" },
    { 0, "host", "name", OPT_LIST, &hosts,
      "also answer to this host name, as that of a proxy; may be given many "
      "times" },
    { 0, "token-file", "file", OPT_STRING, &token_file,
      "keep the token in FILE, so that the URL stays the same after a "
      "restart" },
    { 0, "open", NULL, OPT_FLAG, &open_page, "open the page in a browser" },
    { 0, "edit", NULL, OPT_FLAG, &edit,
      "let the page change notes and tags, and delete and restore runs" },
    { 0, "freeze", "file", OPT_STRING, &frozen_path,
      "write the page with the data of the runs to FILE, and serve nothing" },
    { 0 }
};

/* Options that say how to serve make no sense for a file. */
static int freeze(const struct serve_conf *c, int n, char **words,
                  struct err *e)
{
    if (port || listen_text || edit || open_page || hosts.n || token_file)
        return err_usage(e, "--freeze serves nothing; of the other options it "
                            "takes --root and --follow-links only");
    if (c->n_stores != 1)
        return err_usage(e, "--freeze expects one store");
    return freeze_write(frozen_path, c->stores[0], NULL, c->flags, n, words, e);
}

static int serve_main(int argc, char **argv, struct err *e)
{
    const char *one = track_store();
    struct serve_conf c = { .port = port,
                            .hosts = &hosts,
                            .edit = edit,
                            .open = open_page,
                            .token_file = token_file };

    /* what figures have to say is in their notes */
    if (log_shows(LOG_INFO) && !log_shows(LOG_DEBUG))
        log_setup("gtrack", LOG_WARN);
    c.stores = roots.n ? roots.item : &one;
    c.n_stores = roots.n ? roots.n : 1;
    c.flags = track_links();
    if (frozen_path)
        return freeze(&c, argc, argv, e);
    if (track_check_args(argc, argv, 0, 0, e) < 0)
        return -1;
    if (listen_text && strncmp(listen_text, "unix:", 5) != 0)
        return err_usage(e, "--listen expects unix:PATH, not '%s'",
                         listen_text);
    if (listen_text && (port || open_page))
        return err_usage(e, "--listen cannot be used together with --port or "
                            "--open");
    c.socket = listen_text ? listen_text + 5 : NULL;
    return serve_run(&c, e);
}

const struct cmd cmd_serve = {
    .name = "serve",
    .args = "[RUN|FILTER]...",
    .help = "show runs in a browser, as they are being written",
    .opts = serve_opts,
    .run = serve_main,
};
