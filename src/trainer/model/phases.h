#pragma once

#include "kernels/dev.h"

/*
 * phases - the time of each part of a step, by the device's clock
 *
 *      phases_mark(&p, dev, PHASE_BEGIN);      between the work of the device
 *      ...
 *      phases_end_step(&p, dev, ms)            at the end of the step
 *
 * The device records the time when it reaches a mark (dev.h: mark).  To avoid
 * waiting for the device, phases_end_step() returns the times of the step
 * before the one that ends.  Only the last micro-step of a step is measured.
 * The time of a phase is NaN unless both of its marks were given.
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

/* A phase is the time between two marks. */
enum { PHASES = 6 };
extern const struct phase {
    const char *metric;
    enum phase_mark from, to;
} phases[PHASES];

struct phases {
    int turn; /* steps take turns with two sets of marks */
    bool given[2][PHASE_MARKS];
};

void phases_mark(struct phases *, struct dev *, enum phase_mark);
/* False if no time of the step before is known. */
bool phases_end_step(struct phases *, struct dev *, double ms[PHASES]);
