#include "config.h"
#include "track/serve/cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/mem.h"

bool cache_get(const struct cache *c, const char *url, int64_t version,
               double seconds, struct buf *out)
{
    for (size_t i = 0; i < CACHE_ANSWERS; i++) {
        const struct cached *x = &c->item[i];

        if (x->url && x->version == version && strcmp(x->url, url) == 0 &&
            clock_mono() - x->at <= seconds) {
            buf_add(out, x->body.s, x->body.len);
            return true;
        }
    }
    return false;
}

uint64_t cache_mark(const struct buf *body)
{
    return hash128(body->s, body->len, 0).hi | 1;
}

const struct buf *cache_find(const struct cache *c, const char *url,
                             const char *mark)
{
    const uint64_t wanted = strtoull(mark, NULL, 16);

    for (size_t i = 0; i < CACHE_ANSWERS; i++)
        if (c->item[i].url && strcmp(c->item[i].url, url) == 0 &&
            cache_mark(&c->item[i].body) == wanted)
            return &c->item[i].body;
    return NULL;
}

static void drop(struct cache *c, size_t i)
{
    struct cached *x = &c->item[i];

    if (!x->url)
        return;
    c->bytes -= x->body.len;
    free(x->url);
    buf_clear(&x->body);
    *x = (struct cached){ 0 };
}

void cache_put(struct cache *c, const char *url, int64_t version,
               const struct buf *body)
{
    struct cached *x;

    if (body->len > CACHE_BYTES / 4)
        return;
    drop(c, c->next);
    for (size_t i = 0; i < CACHE_ANSWERS && c->bytes + body->len > CACHE_BYTES;
         i++)
        drop(c, (c->next + i) % CACHE_ANSWERS);
    x = &c->item[c->next];
    *x = (struct cached){ xstrdup(url), version, clock_mono(), BUF_INIT };
    buf_add(&x->body, body->s, body->len);
    c->bytes += body->len;
    c->next = (c->next + 1) % CACHE_ANSWERS;
}

void cache_clear(struct cache *c)
{
    for (size_t i = 0; i < CACHE_ANSWERS; i++)
        drop(c, i);
}
