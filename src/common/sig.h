#ifndef COMMON_SIG_H
#define COMMON_SIG_H

#include <signal.h>

/*
 * sig - a request to stop, as a flag
 *
 * After sig_watch(), SIGINT, SIGTERM, SIGUSR1 and SIGHUP set a flag that a
 * loop looks at when it is ready to stop.  A second SIGINT ends the program at
 * once, with status 130.  SIGHUP stays ignored where nohup(1) began us.
 *
 * Between sig_hold() and sig_watch() they wait, also in a program that is
 * started meanwhile, until it says sig_watch() itself.
 *
 * sig_ignore_writes() lets a write to a closed pipe or beyond a limit on the
 * size of files fail with an error instead of ending the program.  A program
 * that is started gets back the usual reaction to the signals of
 * sig_write_errors().
 */
void sig_ignore_writes(void);
void sig_write_errors(sigset_t *);
void sig_hold(void);
void sig_watch(void);
int sig_caught(void);           /* the signal's number, or 0 */
void sig_reset(void);

#endif
