#ifndef TRAINER_MODEL_PHASES_H
#define TRAINER_MODEL_PHASES_H

#include "kernels/dev.h"

/*
 * phases - where the time of a step goes, by the device's own clock
 *
 *      phases_mark(&p, dev, MICRO_BEGIN);      as work is given to the device
 *      ...
 *      phases_turn(&p, dev, ms)                at the end of the step
 *
 * The device notes the time when it comes to a mark (dev.h: mark), and nobody
 * waits for that: phases_turn() tells of the step before the one that ends, by
 * which time the device has long passed its marks.  Of the micro-steps of a
 * step only the last is measured.  A phase between marks that were not given
 * has no time, NaN.
 */
enum phase_mark {
    PHASE_BEGIN,   /* of the last micro-step */
    PHASE_FORWARD, /* up to the classifier */
    PHASE_HEAD,    /* the classifier, its gradient too */
    PHASE_BACKWARD,
    PHASE_NORM, /* sums over ranks and the gradient's norm */
    PHASE_UPDATE,
    PHASE_MARKS
};

/* A phase lies between two marks. */
enum { PHASES = 6 };
extern const struct phase {
    const char *metric;
    enum phase_mark from, to;
} phases[PHASES];

struct phases {
    int turn;
    bool given[2][PHASE_MARKS];
};

void phases_mark(struct phases *, struct dev *, enum phase_mark);
/* False: nothing is known of the step before. */
bool phases_turn(struct phases *, struct dev *, double ms[PHASES]);

#endif
