#include "config.h"
#include "data/shards/shuffle.h"

#include "common/output/progress.h"
#include "common/sig.h"
#include "data/shards/documents.h"

enum { SHOW_FROM = 1 << 26 }; /* tokens of which a progress bar is shown */

/* Copy n tokens of the shard from number `at` on. */
static int add_tokens(struct sink *sink, int subset, const struct shard *s,
                      int64_t at, int64_t n, struct err *e)
{
    int32_t id[SHARD_BLOCK];
    uint16_t narrow[SHARD_BLOCK];

    for (int64_t k; n > 0; at += k, n -= k) {
        k = n < SHARD_BLOCK ? n : SHARD_BLOCK;
        if (shard_copy_marked(s, at, k, id, NULL, e) < 0)
            return -1;
        for (int64_t i = 0; i < k; i++)
            narrow[i] = (uint16_t)id[i];
        if (sink_add(sink, subset,
                     s->width == 2 ? (const void *)narrow : (const void *)id,
                     (size_t)k, e) < 0)
            return -1;
    }
    return 0;
}

static int add_documents(struct sink *sink, int subset, const struct shard *s,
                         struct documents *d, uint64_t seed, struct err *e)
{
    const bool shows = d->tokens >= SHOW_FROM;
    struct progress bar;
    struct token_range p;
    int ret = 0;

    if (shows)
        progress_open(&bar, 0, (long)(d->tokens >> 20), "Mi tokens");
    for (int64_t at = 0; at < d->tokens && ret == 0; at += p.n) {
        p = documents_range(d, 0, at, seed);
        ret = sig_caught()
                  ? err_set(e, ERR_STOPPED,
                            "interrupted while the documents were shuffled; "
                            "the same command shuffles them again")
                  : add_tokens(sink, subset, s, p.at, p.n, e);
        if (shows)
            progress_at(&bar, (long)(at >> 20), "shuffling");
    }
    if (shows)
        progress_close(&bar);
    return ret;
}

int shuffle_file(const char *path, const struct shuffle *how, struct sink *sink,
                 int subset, struct err *e)
{
    struct documents d = { 0 };
    struct shard s = { 0 };
    int ret = shard_open(&s, path, how->width, e);

    if (ret == 0)
        ret = documents_find(&d, &s, 1, how->eot, e);
    if (ret == 0)
        ret = add_documents(sink, subset, &s, &d, how->seed, e);
    if (ret == 0)
        ret = shard_check(&s, e);
    documents_clear(&d);
    shard_close(&s);
    return ret;
}
