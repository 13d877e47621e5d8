#ifndef TRAINER_RANKS_DEATH_WATCH_H
#define TRAINER_RANKS_DEATH_WATCH_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "trainer/ranks/coll.h"
#include "trainer/ranks/hello.h"
#include "trainer/ranks/peer_socket.h"

/*
 * death_watch - notice that a rank has died, on whichever machine
 *
 *      rank 0                          the others
 *
 *      death_watch_listen(&w, &at, e)
 *                          at ---->
 *                                      death_watch_connect(&w, c, &at)
 *                  <---- how many have connected
 *      death_watch_admit(&w, c, n)     death_watch_confirm(&w)
 *
 *      if (death_watch_check(&w, c, e) < 0)
 *          return -1;                  e names the rank that has died
 *      death_watch_close(&w, c, "");
 *
 * This is for transports that do not tell by themselves.  Rank 0 has a TCP
 * connection to every other rank.  A rank that closes it without a notice has
 * died, and rank 0 tells the others.  A rank that could not connect is not
 * watched, and watches none.
 */
struct death_watch {
    int listener;
    struct pollfd *link; /* to each rank; only rank 0 has more than one */
    char token[HELLO_TOKEN];
};

/* Where rank 0 listens, and the secret by which it knows the others. */
struct death_watch_place {
    char token[HELLO_TOKEN];
    uint32_t port;
    uint32_t n;
    char address[8][PEER_SOCKET_ADDRESS];
};

int death_watch_listen(struct death_watch *, struct death_watch_place *,
                       struct err *);
bool death_watch_connect(struct death_watch *, const struct coll *,
                         const struct death_watch_place *);
/* The number of ranks that are watched. */
int death_watch_admit(struct death_watch *, const struct coll *, int connected);
void death_watch_confirm(struct death_watch *);

int death_watch_check(struct death_watch *, const struct coll *, struct err *);
/* Leave, with the reason why the job has to end, or with "". */
void death_watch_close(struct death_watch *, const struct coll *,
                       const char *why);

#endif
