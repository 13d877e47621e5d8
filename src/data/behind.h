#ifndef DATA_BEHIND_H
#define DATA_BEHIND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/buf.h"

/*
 * behind - write what there is while more is being made
 *
 *      behind_open(&b, fp);
 *      while (more && !behind_failed(&b))
 *          if (text.len >= enough)
 *              behind_write(&b, &text);
 *      behind_write(&b, &text);
 *      behind_close(&b);
 *
 * behind_write() takes the text away and leaves an empty buf; a thread writes
 * it, one text at a time, so there are never more than two in memory.  Until
 * behind_close() fp is that thread's.  A write that fails is noted in fp, as
 * ever, and ends the writing.
 */
struct behind {
    FILE *fp;
    struct buf text; /* the thread's while there is some */
    bool has_thread, stop, failed;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

void behind_open(struct behind *, FILE *);
void behind_write(struct behind *, struct buf *);
bool behind_failed(struct behind *);
void behind_close(struct behind *);

#endif
