#ifndef COMMON_SIG_H
#define COMMON_SIG_H

/*
 * sig - a request to stop, as a flag
 *
 * After sig_watch(), SIGINT, SIGTERM, SIGUSR1 and SIGHUP set a flag that a
 * loop looks at when it is ready to stop.  A second SIGINT ends the program at
 * once, with status 130.
 */
void sig_watch(void);
int sig_caught(void);           /* the signal's number, or 0 */
void sig_reset(void);

#endif
