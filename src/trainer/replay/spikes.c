#include "config.h"
#include "trainer/replay/spikes.h"

#include <math.h>
#include <string.h>

#include "store/analysis/spike.h"

static const char *const events[] = { "event/ignored", "event/skipped",
                                      "event/rollback", "event/stopped" };

enum { EVENTS = sizeof events / sizeof events[0] };

static const char *event_word(int k)
{
    return strchr(events[k], '/') + 1;
}

static const char *find_event(const struct series *event, int64_t step)
{
    double value;

    for (int k = 0; k < EVENTS; k++)
        if (series_value(&event[k], step, &value))
            return event_word(k);
    return NULL;
}

static void add_point(struct table *t, const struct series *loss, size_t i,
                      struct spike_window *window, const struct series *event)
{
    const char *what = find_event(event, loss->step[i]);
    double mid;
    const double z = spike_score(window, loss->value[i], &mid);

    if (isfinite(loss->value[i]) && !(z > SPIKE_DEVIATIONS) && !what)
        return;
    table_int(t, loss->step[i]);
    table_real(t, loss->value[i]);
    table_real_or_none(t, mid);
    table_real_or_none(t, z);
    table_text(t, what);
}

/* Training does not record the loss of a step that stopped it. */
static void add_lost(struct table *t, const struct series *loss, int k,
                     const struct series *event)
{
    double value;

    for (size_t i = 0; i < event->n; i++) {
        if (series_value(loss, event->step[i], &value))
            continue;
        table_int(t, event->step[i]);
        for (int n = 0; n < 3; n++)
            table_none(t);
        table_text(t, event_word(k));
    }
}

int spikes_list(struct table *t, const struct run_info *run, struct err *e)
{
    struct series loss = SERIES_INIT, event[EVENTS] = { SERIES_INIT };
    struct spike_window window = { .n = 0 };
    int ret = series_load(&loss, run, "train/loss", 0, e);

    for (int k = 0; k < EVENTS && ret == 0; k++)
        ret = series_load(&event[k], run, events[k],
                          LOAD_MAY_LACK | LOAD_ALL_ATTEMPTS, e);
    table_columns(t, "step", "loss", "median before", "deviations", "event",
                  NULL);
    for (size_t i = 0; i < loss.n && ret == 0; i++)
        add_point(t, &loss, i, &window, event);
    for (int k = 0; k < EVENTS && ret == 0; k++)
        add_lost(t, &loss, k, &event[k]);
    series_free(&loss);
    for (int k = 0; k < EVENTS; k++)
        series_free(&event[k]);
    return ret;
}
