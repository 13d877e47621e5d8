/*
 * engine_agree - compare what the ranks have, before they train
 */
#include "config.h"
#include "trainer/engine/engine.h"

#include <stdio.h>

#include "common/log.h"
#include "common/sha256.h"
#include "data/shards/lock.h"

/* A property of a rank, as a text that identifies it. */
struct engine_fact {
    const char *what; /* another one */
    char text[256];
};

/* The first rank with another text than rank 0 is described in `who`, which is
 * empty if there is none. */
static int compare_fact(struct engine *eng, const struct engine_fact *f,
                        char who[sizeof *eng->coll.peer], struct err *e)
{
    int rank;

    if (coll_compare(&eng->coll, f->text, sizeof f->text, &rank, e) < 0)
        return -1;
    snprintf(who, sizeof *eng->coll.peer, "%s",
             rank ? eng->coll.peer[rank] : "");
    return 0;
}

static int check_input(struct engine *eng, const struct engine_fact *f,
                       struct err *e)
{
    char who[sizeof *eng->coll.peer];

    if (compare_fact(eng, f, who, e) < 0)
        return -1;
    return *who ? err_set(e, ERR_RANK, "%s has %s than rank 0", who, f->what)
                : 0;
}

/* Only the last bits of results depend on what computes them. */
static int check_device(struct engine *eng, struct err *e)
{
    struct engine_fact f = { .what =
                                 "another GPU, or other instructions of the "
                                 "CPU (GTRAIN_ISA)," };
    char who[sizeof *eng->coll.peer];

    engine_instructions(eng, f.text, sizeof f.text);
    if (eng->set->train.deterministic)
        return check_input(eng, &f, e);
    if (compare_fact(eng, &f, who, e) < 0)
        return -1;
    if (*who && eng->coll.rank == 0)
        log_warn("%s has %s than rank 0; they round differently", who, f.what);
    return 0;
}

/* The hashes of whole files, if all ranks have a lock with them. */
static int check_locks(struct engine *eng, const struct mixture *data,
                       const char *what, struct err *e)
{
    const size_t n = data ? mixture_sources(data) : 0;

    for (size_t k = 0; k < n; k++) {
        struct engine_fact f = { .what = what };
        int64_t lacking = !lock_recorded(mixture_loader(data, k), f.text);

        if (coll_max(&eng->coll, &lacking, e) < 0 ||
            (!lacking && check_input(eng, &f, e) < 0))
            return -1;
    }
    return 0;
}

int engine_agree(struct engine *eng, struct err *e)
{
    const struct engine_data *d = &eng->data;
    struct engine_fact fact[] = { { .what = "another build of gtrain" },
                                  { .what = "another data.tokenizer" },
                                  { .what = "other files in data.train" },
                                  { .what = "other files in data.val" } };
    int64_t size;

    if (eng->coll.size == 1)
        return 0;
    if (sha256_file("/proc/self/exe", fact[0].text, &size, e) < 0)
        return -1;
    snprintf(fact[1].text, sizeof fact[1].text, "%s",
             d->tokenizer ? tokenizer_hash(d->tokenizer) : "");
    snprintf(fact[2].text, sizeof fact[2].text, "%s",
             d->train ? mixture_hash(d->train) : "");
    snprintf(fact[3].text, sizeof fact[3].text, "%s",
             d->val ? mixture_hash(d->val) : "");
    for (size_t i = 0; i < sizeof fact / sizeof fact[0]; i++)
        if (check_input(eng, &fact[i], e) < 0)
            return -1;
    if (check_locks(eng, d->train, "another data.lock of data.train", e) < 0 ||
        check_locks(eng, d->val, "another data.lock of data.val", e) < 0)
        return -1;
    return check_device(eng, e);
}
