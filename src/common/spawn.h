#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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
 * or `words` it writes to the standard output or error of this program, unless
 * it is quiet.
 *
 * A program that does not exist is ERR_MISSING.  One that ends with a status
 * other than 0, by a signal, or after its time is up is ERR_SYSTEM, and the
 * error quotes the last line of what it said there, after the name of the
 * program unless the line begins with it; status is the exit status, or 128
 * plus the signal, as in a shell.
 */
struct spawn {
    const void *in; /* for its standard input, or NULL */
    size_t in_len;
    struct buf *out;   /* its standard output is appended, or NULL */
    struct buf *words; /* likewise its standard error */
    bool quiet;        /* without words: errors alone quote what it says */
    struct buf said;   /* by a quiet one */
    size_t max;        /* bytes it may write; 0: 256 MiB */
    double secs;       /* it is killed after this time; 0: never */
    bool whole;        /* by spawn_call(): see there */
    int status;        /* set when it ended */
};

int spawn_run(const char *const *argv, struct spawn *, struct err *);
/* The last line of what a program said, without its name; the caller frees. */
char *spawn_last_line(const struct buf *words, const char *program);

/*
 * Call a function of this program in a child process, where it can give up
 * rights, crash and print without harm to the caller.  Its result is the
 * status; it has to flush what it prints.  Errors call the child `name`.  No
 * other thread of the caller may hold a lock that the function needs.  With
 * `whole`, the child and all that it starts are killed when it has ended, when
 * its time is up, and when sig_caught(), which is ERR_INTERRUPTED; it does not
 * outlive this process.
 */
typedef int spawn_fn(void *arg);
int spawn_call(const char *name, spawn_fn *, void *arg, struct spawn *,
               struct err *);

/*
 * A command and all that it starts, in a process group of their own.
 *
 *      if (spawn_group_fork(&g, true) == 0)
 *          ... execvp() or _exit()
 *      while (!spawn_group_ended(&g)) {
 *          spawn_group_reap(&g, 1);
 *          if (... it should stop)
 *              spawn_group_signal(&g, SIGTERM, 60);
 *      }
 *      ... g.status
 *
 * The command has the default signals, and gets SIGTERM if this process is
 * killed.  It has ended when its first process has; what that left running goes
 * on.  But after a signal to stop, the group has ended when all of it has, and
 * what is left after the time of grace is killed.  Of a group that shares ours,
 * so that the terminal reaches it, the first process gets the signals.
 */
struct spawn_group {
    pid_t pid;      /* of the first process; 0: none */
    pid_t to;       /* whom signals go to, as for kill(2) */
    bool waited;    /* the first process has ended, with this status: */
    int status;     /* as waitpid(2) tells it */
    double kill_at; /* by clock_mono(); 0: it was not asked to stop */
};

pid_t spawn_group_fork(struct spawn_group *, bool own);
/* Pass a signal on.  All but SIGUSR1, which may mean anything, ask it to stop
 * within `grace` seconds. */
void spawn_group_signal(struct spawn_group *, int sig, double grace);
/* Wait for the children that have ended, of n groups and of no group: as the
 * first process of a container, this one inherits all others. */
void spawn_group_reap(struct spawn_group *, size_t n);
bool spawn_group_ended(const struct spawn_group *);

/*
 * The path of a program of this suite: beside the running program's own file,
 * else in PATH.  The caller frees it; NULL, with e filled, if there is none.
 */
char *spawn_find(const char *name, struct err *);
/* The path of a file relative to the folder of the program's own file, if
 * access() allows this mode, or NULL; the caller frees it. */
char *spawn_beside(const char *name, int mode);
