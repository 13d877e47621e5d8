#include "config.h"
#include "trainer/model/phases.h"

#include <math.h>
#include <string.h>

const struct phase phases[PHASES] = {
    { "perf/micro_ms", PHASE_BEGIN, PHASE_BACKWARD },
    { "perf/forward_ms", PHASE_BEGIN, PHASE_FORWARD },
    { "perf/head_ms", PHASE_FORWARD, PHASE_HEAD },
    { "perf/backward_ms", PHASE_HEAD, PHASE_BACKWARD },
    { "perf/norm_ms", PHASE_BACKWARD, PHASE_NORM },
    { "perf/update_ms", PHASE_NORM, PHASE_UPDATE },
};

void phases_mark(struct phases *p, struct dev *dev, enum phase_mark m)
{
    if (!dev->type->mark)
        return;
    dev->type->mark(dev, p->turn * PHASE_MARKS + (int)m);
    p->given[p->turn][m] = true;
}

bool phases_end_step(struct phases *p, struct dev *dev, double ms[PHASES])
{
    bool any = false;

    p->turn = 1 - p->turn; /* now the step before, and later the next */
    for (int k = 0; k < PHASES; k++) {
        const struct phase f = phases[k];
        const int at = p->turn * PHASE_MARKS;
        const double s =
            p->given[p->turn][f.from] && p->given[p->turn][f.to]
                ? dev->type->between(dev, at + (int)f.from, at + (int)f.to)
                : -1.0;

        ms[k] = s < 0 ? (double)NAN : 1e3 * s;
        any = any || s >= 0;
    }
    memset(p->given[p->turn], 0, sizeof p->given[p->turn]);
    return any;
}
