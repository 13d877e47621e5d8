#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "trainer/ranks/coll.h"
#include "trainer/ranks/hello.h"

/*
 * death_watch - find the rank that has died or hangs, on whichever machine
 *
 *      rank 0                          the others
 *
 *      death_watch_listen(&w, &at, e)
 *                          at ---->
 *                                      death_watch_connect(&w, c, &at)
 *                  <---- how many have connected
 *      death_watch_admit(&w, c, n)     death_watch_confirm(&w, c)
 *
 *      if (death_watch_check(&w, c, e) < 0)
 *          return -1;                  e names the rank that has died
 *      death_watch_close(&w, c, "");
 *
 * This is for transports that do not notice it themselves.  Rank 0 has a TCP
 * connection to every other rank.  A rank that closes it without a notice has
 * died, and rank 0 tells the others.  A rank that could not connect is not
 * watched, and watches none.
 *
 * A rank that has waited in vain may itself be waited for, so it reports that
 * with death_watch_report().  When all but one have reported, or half of
 * c->timeout after the first report, rank 0 follows them to a rank that has
 * reported nothing, and death_watch_check() names that one everywhere; it names
 * rank 0 if no answer comes for c->timeout.
 */
struct death_watch {
    int listener;
    struct pollfd *link; /* to each rank; only rank 0 has more than one */
    int *waits_for;      /* what each rank reported; only rank 0 has all */
    int reports;
    double reported_at; /* the first of them */
    char token[HELLO_TOKEN];
};

enum { WAITS_FOR_NONE = -2, WAITS_FOR_ALL = -1 };

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
void death_watch_confirm(struct death_watch *, const struct coll *);

/* This rank waits for another one, or for all of them. */
void death_watch_report(struct death_watch *, const struct coll *,
                        int waits_for);
/* Follow the reports, beginning with rank `from`, to the rank that all wait
 * for, or to one of a circle of ranks that wait for each other; waits_for[r] is
 * the report of rank r. */
int death_watch_find(const int *waits_for, int ranks, int from);
int death_watch_check(struct death_watch *, const struct coll *, struct err *);
/* Leave, with the reason why the job has to end, or with "". */
void death_watch_close(struct death_watch *, const struct coll *,
                       const char *why);
