#include "config.h"
#include "data/shards/mixture.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/mem.h"
#include "data/shards/shares.h"

struct mixture {
    struct loader *loader[SOURCE_LIST_MOST];
    char name[SOURCE_LIST_MOST][SOURCE_LIST_NAME];
    size_t n;
    struct shares *shares; /* NULL: all is from the first */
    int64_t context, last; /* the first sequence of the last call */
    char hash[SHA256_TEXT];
};

static void hash_sources(struct mixture *m)
{
    struct sha256 h;

    if (!*m->name[0]) {
        memcpy(m->hash, loader_hash(m->loader[0]), SHA256_TEXT);
        return;
    }
    sha256_init(&h);
    for (size_t k = 0; k < m->n; k++) {
        sha256_add(&h, m->name[k], strlen(m->name[k]) + 1);
        sha256_add(&h, loader_hash(m->loader[k]), SHA256_TEXT);
    }
    sha256_text(&h, m->hash);
}

static int open_source(struct mixture *m, const struct source_part *p,
                       const struct loader_conf *conf, struct err *e)
{
    struct loader_conf c = *conf;
    const size_t len = strlen(p->name);

    c.files = p->files;
    if (len > 0)
        c.seed = hash128(p->name, len, conf->seed).lo;
    memcpy(m->name[m->n], p->name, len + 1);
    if (loader_open(&m->loader[m->n], &c, e) < 0)
        return len > 0 ? err_wrap(e, "%s", p->name) : -1;
    m->n++;
    return 0;
}

/* How often a source is read at most. */
static int64_t limit_of(const struct mixture *m, const struct source_list *l,
                        size_t k)
{
    const int64_t epochs = source_list_first(l, k)->epochs;
    const int64_t windows = loader_windows(m->loader[k]);

    return epochs < INT64_MAX / windows ? epochs * windows : 0;
}

static struct shares *make_shares(const struct mixture *m,
                                  const struct source_list *l,
                                  const struct mixture_conf *c)
{
    struct shares_part part[SOURCE_LIST_MOST];
    int64_t most[SOURCE_LIST_MOST];

    for (size_t k = 0; k < m->n; k++)
        most[k] = limit_of(m, l, k);
    for (size_t i = 0; i < l->n; i++) {
        const struct source_part *p = &l->part[i];

        part[i] = (struct shares_part){
            .source = p->source,
            .weight = p->share ? p->share : 1,
            .from = c->sequences(c->arg, &p->from),
            .until =
                p->until.n > 0 ? c->sequences(c->arg, &p->until) : INT64_MAX,
        };
    }
    return shares_new(&(struct shares_conf){ .sources = m->n,
                                             .part = part,
                                             .parts = l->n,
                                             .most = most,
                                             .stops = c->stops });
}

int mixture_open(struct mixture **out, const struct source_list *l,
                 const struct mixture_conf *c, struct err *e)
{
    struct mixture *m = xcalloc(1, sizeof *m);

    m->context = c->loader.context;
    for (size_t k = 0; k < l->sources; k++)
        if (open_source(m, source_list_first(l, k), &c->loader, e) < 0) {
            mixture_close(m);
            return -1;
        }
    if (c->shares && *m->name[0])
        m->shares = make_shares(m, l, c);
    hash_sources(m);
    *out = m;
    return 0;
}

void mixture_close(struct mixture *m)
{
    if (!m)
        return;
    for (size_t k = 0; k < m->n; k++)
        loader_close(m->loader[k]);
    shares_free(m->shares);
    free(m);
}

size_t mixture_sources(const struct mixture *m)
{
    return m->n;
}

struct loader *mixture_loader(const struct mixture *m, size_t source)
{
    return m->loader[source];
}

const char *mixture_name(const struct mixture *m, size_t source)
{
    return m->name[source];
}

int mixture_check(const struct mixture *m, struct err *e)
{
    for (size_t k = 0; k < m->n; k++)
        if (loader_check(m->loader[k], e) < 0)
            return -1;
    return 0;
}

const char *mixture_hash(const struct mixture *m)
{
    return m->hash;
}

static struct shares_place place_of(struct mixture *m, int64_t i)
{
    return m->shares ? shares_at(m->shares, i) : (struct shares_place){ 0, i };
}

size_t mixture_source(struct mixture *m, int64_t i)
{
    return place_of(m, i).source;
}

int64_t mixture_count(struct mixture *m, size_t source, int64_t n)
{
    return m->shares ? shares_count(m->shares, source, n) : n;
}

double mixture_due(const struct mixture *m, size_t source, int64_t n)
{
    return m->shares ? shares_due(m->shares, source, n) : (double)n;
}

int64_t mixture_length(const struct mixture *m)
{
    return m->shares ? shares_length(m->shares) : INT64_MAX;
}

/* Touch the windows of the next call, which is probably as far from this one as
 * this one was from the last.  Those of a source follow one another. */
static void touch_next(struct mixture *m, int64_t first, int64_t n)
{
    int64_t next[SOURCE_LIST_MOST], count[SOURCE_LIST_MOST] = { 0 };
    const int64_t step = first - m->last, from = first + step;

    m->last = first;
    if (step <= 0 || from + n > mixture_length(m))
        return;
    for (int64_t i = from; i < from + n; i++) {
        const struct shares_place p = place_of(m, i);

        if (count[p.source]++ == 0)
            next[p.source] = p.nth;
    }
    for (size_t k = 0; k < m->n; k++)
        if (count[k] > 0)
            loader_touch(m->loader[k], next[k], count[k]);
}

int mixture_get(struct mixture *m, int64_t first, int64_t n, int32_t *x,
                int32_t *y, struct err *e)
{
    if (first + n > mixture_length(m))
        return err_set(e, ERR_INPUT,
                       "the sources of data.train end after %lld sequences",
                       (long long)mixture_length(m));
    for (int64_t i = 0; i < n; i++) {
        const struct shares_place p = place_of(m, first + i);

        if (loader_get(m->loader[p.source], p.nth, 1, x + i * m->context,
                       y + i * m->context, e) < 0)
            return -1;
    }
    touch_next(m, first, n);
    return 0;
}
