#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/*
 * serve - answer a browser until a signal arrives
 *
 * Prints the URL with its token on standard output.  Everything happens in one
 * thread, which waits for requests and for changes of the stores.
 */
struct serve_conf {
    const char *const *stores;
    size_t n_stores;
    int flags;              /* LOAD_LINKS to follow symbolic links, or 0 */
    int port;               /* 0: any */
    const char *socket;     /* the path of a Unix socket, or NULL */
    const char *token_file; /* keeps the token over a restart, or NULL */
    const struct opt_list *hosts;
    bool edit, open;
};

int serve_run(const struct serve_conf *, struct err *);

/* Write the page with its data to a file that needs no server (freeze.c): what
 * the page would ask for about some runs.  Figures have as many points as keep
 * the file small.  Without words, all runs of the store are in it, or of a
 * sweep, unless that is NULL.  The flags are LOAD_LINKS or 0. */
int freeze_write(const char *path, const char *store, const char *sweep,
                 int flags, int n, char **words, struct err *);
