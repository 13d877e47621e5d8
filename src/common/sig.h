#ifndef COMMON_SIG_H
#define COMMON_SIG_H

/*
 * sig - a request to stop, as a flag
 *
 * After sig_watch(), SIGINT, SIGTERM, SIGUSR1 and SIGHUP set a flag that a
 * loop looks at when it is ready to stop.  A second SIGINT ends the program at
 * once, with status 130.  SIGHUP stays ignored where nohup(1) began us.
 *
 * Between sig_hold() and sig_watch() they wait, also in a program that is
 * started meanwhile, until it says sig_watch() itself.
 */
void sig_hold(void);
void sig_watch(void);
int sig_caught(void);           /* the signal's number, or 0 */
void sig_reset(void);

#endif
