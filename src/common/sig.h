#pragma once

#include <signal.h>
#include <stdbool.h>

/*
 * sig - a request to stop, as a flag
 *
 * After sig_watch(), SIGINT, SIGTERM, SIGUSR1 and SIGHUP set a flag that a
 * loop looks at when it is ready to stop.  A second SIGINT ends the program at
 * once, with status 130.  SIGHUP stays ignored if the program was started with
 * nohup(1).
 *
 * Between sig_listen() and sig_unlisten() a thread calls a function as soon as
 * a signal has arrived, so that it can be acknowledged before the loop looks at
 * the flag.  It is called again for the second SIGINT, and then the program
 * ends; a third SIGINT does not wait for that.
 *
 * Between sig_hold() and sig_watch() these signals are blocked, also in
 * programs started in between, until those call sig_watch() themselves.
 *
 * After sig_ignore_writes(), writing to a closed pipe or beyond the limit on
 * the size of files fails with an error instead of ending the program.
 * sig_write_errors() are the signals that a child needs to have reset.
 */
void sig_ignore_writes(void);
void sig_write_errors(sigset_t *);
void sig_hold(void);
void sig_watch(void);
int sig_caught(void); /* the signal's number, or 0 */
void sig_reset(void);

/* `again`: this is a second SIGINT. */
typedef void sig_listen_fn(void *arg, int sig, bool again);
void sig_listen(sig_listen_fn *, void *arg);
/* After a second SIGINT this does not return: the program ends. */
void sig_unlisten(void);
