#include "config.h"
#include "track/runs/left_out.h"

#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "track/runs/track.h"

static void tell_one(const struct runs *all, const struct run_info *of)
{
    int64_t runs = 0, deleted = 0, failed = 0;
    char n[NUM_TEXT];

    for (size_t i = 0; i < all->n; i++) {
        const struct run_info *r = &all->run[i];

        if (strcmp(r->experiment_id, of->experiment_id) != 0)
            continue;
        runs++;
        deleted += r->deleted;
        failed +=
            !r->deleted && (r->status == RUN_FAILED || r->status == RUN_STALE);
    }
    if (deleted + failed > 0)
        log_info("the experiment %s has %s, of which %lld %s deleted and %lld "
                 "failed",
                 of->experiment, num_count(n, runs, "run"), (long long)deleted,
                 deleted == 1 ? "is" : "are", (long long)failed);
}

void left_out_tell(const struct runs *runs)
{
    struct runs all = { 0 };

    if (runs_load(&all, track_store(), LOAD_DELETED | LOAD_NO_METRICS,
                  ERR_IGNORED) < 0)
        all.n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        bool told = false;

        for (size_t k = 0; k < i && !told; k++)
            told = strcmp(runs->run[k].experiment_id,
                          runs->run[i].experiment_id) == 0;
        if (!told)
            tell_one(&all, &runs->run[i]);
    }
    runs_free(&all);
}
