#include "config.h"
#include "store/write/point_queue.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"

enum { SPARE = 64, STRIDE_MOST = 1 << 20 };

struct point_queue_key {
    char *name;
    uint32_t id;
    bool odd; /* the last point that was looked at is kept */
    uint32_t seen;
};

void queued_texts_add(struct queued_texts *t, struct queued_text text)
{
    APPEND(t->item, t->n, t->room) = text;
}

void queued_texts_clear(struct queued_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        FREE(t->item[i].key, t->item[i].value);
    free(t->item);
    *t = (struct queued_texts){ 0 };
}

void point_queue_init(struct point_queue *q, const char *name, int most)
{
    const char *fixed = getenv("GT_CLOCK_MS");

    *q = (struct point_queue){
        .name = name, .fixed_ms = -1, .most = most, .stride = 1, .wake_at = 1
    };
    if (fixed)
        num_int(fixed, &q->fixed_ms);
    pthread_mutex_init(&q->lock, NULL);
    clock_cond(&q->wake);
}

static void free_blocks(struct point_block *b)
{
    while (b) {
        struct point_block *next = b->next;

        free(b);
        b = next;
    }
}

static void free_key(void *arg)
{
    struct point_queue_key *key = arg;

    FREE(key->name, key);
}

void point_queue_clear(struct point_queue *q)
{
    free_blocks(q->first);
    free_blocks(q->spare);
    queued_texts_clear(&q->texts);
    tdestroy(q->names, free_key);
    free(q->key);
    pthread_cond_destroy(&q->wake);
    pthread_mutex_destroy(&q->lock);
}

static struct point_queue_key *find_key(struct point_queue *q, const char *name)
{
    const struct point_queue_key wanted = { .name = (char *)(uintptr_t)name };
    struct point_queue_key *const *found =
        tfind(&wanted, &q->names, str_compare);
    struct point_queue_key *new;

    if (found)
        return *found;
    new = xmalloc(sizeof *new);
    *new = (struct point_queue_key){ .name = xstrdup(name),
                                     .id = (uint32_t)q->n_keys };
    APPEND(q->key, q->n_keys, q->key_room) = new;
    tsearch(new, &q->names, str_compare);
    return new;
}

/* Keep rewinds, and every second point of each key. */
static bool is_kept(struct point_queue *q, const struct queued_point *item)
{
    if (item->key == POINT_QUEUE_REWIND)
        return true;
    q->key[item->key]->odd = !q->key[item->key]->odd;
    q->dropped += !q->key[item->key]->odd;
    return q->key[item->key]->odd;
}

/* Thin out two blocks, and put as much as fits into the first. */
static void thin_pair(struct point_queue *q, struct point_block *a,
                      struct point_block *b)
{
    struct point_block *const pair[] = { a, b };
    const int n[] = { a->n, b->n };
    int kept = 0;

    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n[k]; i++) {
            const struct queued_point item = pair[k]->item[i];

            if (!is_kept(q, &item))
                continue;
            pair[kept / POINT_BLOCK]->item[kept % POINT_BLOCK] = item;
            kept++;
        }
    }
    a->n = kept < POINT_BLOCK ? kept : POINT_BLOCK;
    b->n = kept - a->n;
}

/* A block that was emptied by dropping points, or NULL. */
static struct point_block *thin(struct point_queue *q)
{
    for (int i = 0; i < q->n_blocks; i++) {
        struct point_block *a = q->thin ? q->thin : q->first, *b = a->next;

        if (!b)
            return NULL;
        thin_pair(q, a, b);
        q->thin = b->next && b->next->next ? b->next : NULL;
        if (!q->thin && q->stride < STRIDE_MOST)
            q->stride *= 2;
        if (b->n)
            continue;
        a->next = b->next;
        if (q->last == b)
            q->last = a;
        q->n_blocks--;
        return b;
    }
    return NULL;
}

static struct point_block *new_block(struct point_queue *q)
{
    struct point_block *b = q->spare;

    if (b) {
        q->spare = b->next;
        q->n_spare--;
        return b;
    }
    b = q->n_blocks < q->most ? malloc(sizeof *b) : NULL;
    return b ? b : thin(q);
}

/* Room for one more item, or NULL when there is no memory. */
static struct queued_point *append_item(struct point_queue *q)
{
    if (!q->last || q->last->n == POINT_BLOCK) {
        struct point_block *b = new_block(q);

        if (!b)
            return NULL;
        b->next = NULL;
        b->n = 0;
        if (q->last)
            q->last->next = b;
        else
            q->first = b;
        q->last = b;
        if (++q->n_blocks == q->wake_at)
            pthread_cond_signal(&q->wake);
    }
    return &q->last->item[q->last->n++];
}

static int64_t now(const struct point_queue *q)
{
    struct timespec t;

    if (q->fixed_ms >= 0)
        return q->fixed_ms;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void point_queue_points(struct point_queue *q, int64_t step, int64_t age_ms,
                        const struct run_point *p, int n)
{
    const int64_t ms = now(q) - age_ms;
    bool whole, first;

    pthread_mutex_lock(&q->lock);
    whole = q->dropped == 0;
    for (int i = 0; i < n; i++) {
        struct point_queue_key *key = find_key(q, p[i].key);
        struct queued_point *item =
            key->seen++ % q->stride ? NULL : append_item(q);

        if (item)
            *item = (struct queued_point){ key->id, { ms, step, p[i].value } };
        else
            q->dropped++;
    }
    first = whole && q->dropped;
    pthread_mutex_unlock(&q->lock);
    if (first)
        log_warn("%s: the memory for unwritten points is full; "
                 "every second point is dropped",
                 q->name);
}

void point_queue_rewind(struct point_queue *q, int64_t step)
{
    const int64_t ms = now(q);
    struct queued_point *item;

    pthread_mutex_lock(&q->lock);
    item = append_item(q);
    if (item)
        *item = (struct queued_point){ POINT_QUEUE_REWIND, { ms, step, 0 } };
    pthread_mutex_unlock(&q->lock);
}

void point_queue_text(struct point_queue *q, enum key_kind kind,
                      const char *key, const char *value)
{
    struct queued_text text = { kind, xstrdup(key),
                                value ? xstrdup(value) : NULL };
    AUTO_FREE char *old = NULL;
    bool found = false;

    pthread_mutex_lock(&q->lock);
    for (size_t i = 0; kind == TAG && i < q->texts.n && !found; i++) {
        struct queued_text *t = &q->texts.item[i];

        if (t->kind == TAG && strcmp(t->key, key) == 0) {
            old = t->value;
            t->value = text.value;
            found = true;
        }
    }
    if (!found)
        queued_texts_add(&q->texts, text);
    pthread_mutex_unlock(&q->lock);
    if (found)
        free(text.key);
}

/* -- the writer's side ------------------------------------------------- */

struct point_block *point_queue_take(struct point_queue *q,
                                     struct queued_texts *texts)
{
    struct point_block *first = q->first;

    q->first = q->last = q->thin = NULL;
    q->n_blocks = 0;
    for (size_t i = 0; i < q->texts.n; i++)
        queued_texts_add(texts, q->texts.item[i]);
    q->texts.n = 0;
    return first;
}

void point_queue_put_back(struct point_queue *q, struct point_block *rest)
{
    struct point_block *last = rest;

    if (!rest) {
        if (!q->first)
            q->stride = 1;
        return;
    }
    for (q->n_blocks++; last->next; last = last->next)
        q->n_blocks++;
    q->thin = NULL;
    last->next = q->first;
    q->first = rest;
    if (!q->last)
        q->last = last;
}

void point_queue_recycle(struct point_queue *q, struct point_block *b)
{
    pthread_mutex_lock(&q->lock);
    if (q->n_spare < SPARE) {
        b->next = q->spare;
        q->spare = b;
        q->n_spare++;
        b = NULL;
    }
    pthread_mutex_unlock(&q->lock);
    free(b);
}

const char *point_queue_key(struct point_queue *q, uint32_t key)
{
    const char *s;

    pthread_mutex_lock(&q->lock);
    s = q->key[key]->name; /* the array may move, the string does not */
    pthread_mutex_unlock(&q->lock);
    return s;
}
