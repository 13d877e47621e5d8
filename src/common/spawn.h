#ifndef COMMON_SPAWN_H
#define COMMON_SPAWN_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * spawn - run a program on a pipe and learn how it ended
 *
 *      const char *const argv[] = { "gnuplot", NULL };
 *      struct buf png = BUF_INIT;
 *      struct spawn s = { .in = text, .in_len = strlen(text), .out = &png };
 *
 *      if (spawn_run(argv, &s, e) < 0)
 *          return err_wrap(e, "drawing %s", path);
 *
 * The program is looked up in PATH and started without a shell.  Its input is
 * written while its output is read, so neither side can block the other,
 * whatever the sizes.  With NULL for `in` it reads nothing; with NULL for `out`
 * or `words` it writes to the standard output or error of this program.
 *
 * A program that does not exist is ERR_MISSING.  One that ends with a status
 * other than 0, by a signal, or after its time is up is ERR_SYSTEM, and the
 * error quotes the last line that it wrote to `words`, after the name of the
 * program unless the line begins with it; status is the exit status, or 128
 * plus the signal, as in a shell.
 */
struct spawn {
    const void *in; /* for its standard input, or NULL */
    size_t in_len;
    struct buf *out;   /* its standard output is appended, or NULL */
    struct buf *words; /* likewise its standard error */
    size_t max;        /* bytes it may write; 0: 256 MiB */
    double secs;       /* it is killed after this time; 0: never */
    int status;        /* set when it ended */
};

int spawn_run(const char *const *argv, struct spawn *, struct err *);

/*
 * Call a function of this program in a child process, where it can give up
 * rights, crash and print without harm to the caller.  Its result is the
 * status; it has to flush what it prints.  Errors call the child `name`.  No
 * other thread of the caller may hold a lock that the function needs.
 */
typedef int spawn_fn(void *arg);
int spawn_call(const char *name, spawn_fn *, void *arg, struct spawn *,
               struct err *);

/*
 * The path of a program of this suite: beside the running program's own file,
 * else in PATH.  The caller frees it; NULL, with e filled, if there is none.
 */
char *spawn_find(const char *name, struct err *);

#endif
