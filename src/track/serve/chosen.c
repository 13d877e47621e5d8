#include "config.h"
#include "track/serve/chosen.h"

#include <stdlib.h>

#include "common/buf.h"
#include "store/query/differ.h"
#include "track/runs/track.h"

/* The runs of the filter in the order of the store, without whole sweeps. */
static int filter_store(struct runs *runs, const struct live *l,
                        const struct query *q, struct err *e)
{
    struct track_selection s = TRACK_SELECTION_INIT;

    s.where = query_get(q, "filter");
    *runs = site_all_runs(l, false);
    if (track_narrow(runs, l->path, &s, 0, NULL, e) < 0)
        return -1;
    differ_drop_sweeps(runs, NULL, 0);
    return 0;
}

/* Of too many runs, the first ones in the order of the table. */
static int keep_first(struct chosen *c, const struct live *l,
                      const struct query *q, int first, struct err *e)
{
    struct track_selection s = TRACK_SELECTION_INIT;

    if (c->runs.n <= (size_t)first)
        return 0;
    s.sort = query_get(q, "sort");
    s.sort = s.sort ? s.sort : CHOSEN_SORT;
    s.limit = first;
    return track_narrow(&c->runs, l->path, &s, 0, NULL, e);
}

int chosen_open(struct chosen *c, struct site *s, struct query *q,
                struct err *e)
{
    const struct live *l = site_store(s, q, e);
    int first;

    *c = (struct chosen){ .live = l };
    if (!l || query_number(q, "first", 100000, 0, &first, e) < 0)
        return -1;
    if (!first || query_get(q, "runs")) {
        if (site_runs(s, q, "runs", &c->runs, e) < 0)
            return -1;
        c->matched = c->runs.n;
        return 0;
    }
    if (filter_store(&c->runs, l, q, e) < 0)
        goto failed;
    c->matched = c->runs.n;
    if (keep_first(c, l, q, first, e) < 0)
        goto failed;
    c->filter = query_get(q, "filter");
    if (!c->filter)
        c->filter = "*";
    if (c->matched > c->runs.n)
        c->filter = NULL;
    return 0;

failed:
    chosen_close(c);
    return -1;
}

void chosen_words(struct buf *b, const struct chosen *c)
{
    buf_shell_option(b, "", c->filter);
    for (size_t i = 0; i < c->runs.n && !c->filter; i++)
        site_run_word(b, c->live, &c->runs.run[i]);
}

void chosen_close(struct chosen *c)
{
    free(c->runs.run);
    *c = (struct chosen){ 0 };
}
