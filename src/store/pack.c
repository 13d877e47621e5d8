#include "config.h"
#include "store/pack.h"

#include <string.h>

#include "store/attempt.h"

/* -- packing ----------------------------------------------------------- */

void pack_u32(struct buf *b, uint32_t n)
{
    buf_add(b, &n, sizeof n);
}

void pack_i64(struct buf *b, int64_t n)
{
    buf_add(b, &n, sizeof n);
}

void pack_real(struct buf *b, double x)
{
    buf_add(b, &x, sizeof x);
}

void pack_bytes(struct buf *b, const void *data, size_t n)
{
    pack_u32(b, (uint32_t)n);
    buf_add(b, data, n);
}

void pack_text(struct buf *b, const char *s)
{
    if (s)
        pack_bytes(b, s, strlen(s) + 1);
    else
        pack_u32(b, 0);
}

static void pack_pairs(struct buf *b, const struct pair *p, size_t n)
{
    pack_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        pack_text(b, p[i].key);
        pack_text(b, p[i].value);
    }
}

static void pack_metric(struct buf *b, const struct metric_sum *m)
{
    pack_text(b, m->key);
    buf_add(b, (const char *)m + sizeof m->key, sizeof *m - sizeof m->key);
}

static void pack_input(struct buf *b, const struct input *in)
{
    pack_text(b, in->name);
    pack_text(b, in->digest);
    pack_text(b, in->source);
    pack_text(b, in->source_type);
    pack_text(b, in->schema);
    pack_text(b, in->profile);
    pack_text(b, in->context);
}

static void pack_attempt(struct buf *b, const struct attempt *a)
{
    pack_i64(b, a->number);
    pack_i64(b, a->status);
    pack_i64(b, a->start_ms);
    pack_i64(b, a->end_ms);
    pack_i64(b, a->beat_ms);
    pack_i64(b, a->interval_ms);
    pack_i64(b, a->pid);
    pack_i64(b, a->pid_start);
    pack_i64(b, a->cpus);
    pack_i64(b, a->gpus);
    pack_text(b, a->host);
    pack_text(b, a->boot);
    pack_text(b, a->job);
    pack_text(b, a->user);
    pack_text(b, a->command);
    pack_text(b, a->reason);
}

void pack_run(struct buf *b, const struct run_info *r)
{
    pack_text(b, r->id);
    pack_text(b, r->name);
    pack_text(b, r->artifact_uri);
    pack_text(b, r->user);
    pack_text(b, r->damage);
    pack_text(b, r->torn);
    pack_i64(b, r->status);
    pack_i64(b, r->deleted);
    pack_i64(b, r->start_ms);
    pack_i64(b, r->end_ms);
    pack_pairs(b, r->params, r->n_params);
    pack_pairs(b, r->tags, r->n_tags);
    pack_u32(b, (uint32_t)r->n_metrics);
    for (size_t i = 0; i < r->n_metrics; i++)
        pack_metric(b, &r->metrics[i]);
    pack_u32(b, (uint32_t)r->n_inputs);
    for (size_t i = 0; i < r->n_inputs; i++)
        pack_input(b, &r->inputs[i]);
    pack_u32(b, (uint32_t)r->attempts);
    for (int i = 0; i < r->attempts; i++)
        pack_attempt(b, &r->attempt[i]);
}

/* -- unpacking --------------------------------------------------------- */

static void read_bytes(struct unpack *u, void *out, size_t n)
{
    memset(out, 0, n);
    if (!u->good || n > (size_t)(u->end - u->at)) {
        u->good = false;
        return;
    }
    memcpy(out, u->at, n);
    u->at += n;
}

uint32_t unpack_u32(struct unpack *u)
{
    uint32_t n;

    read_bytes(u, &n, sizeof n);
    return n;
}

int64_t unpack_i64(struct unpack *u)
{
    int64_t n;

    read_bytes(u, &n, sizeof n);
    return n;
}

double unpack_real(struct unpack *u)
{
    double x;

    read_bytes(u, &x, sizeof x);
    return x;
}

const char *unpack_bytes(struct unpack *u, uint32_t *n)
{
    const char *s = u->at + sizeof *n;

    *n = unpack_u32(u);
    if (!u->good || *n > (size_t)(u->end - u->at)) {
        u->good = false;
        *n = 0;
        return NULL;
    }
    u->at += *n;
    return s;
}

const char *unpack_text(struct unpack *u)
{
    uint32_t n;
    const char *s = unpack_bytes(u, &n);

    if (n > 0 && s[n - 1] != '\0')
        u->good = false;
    return u->good && n > 0 ? s : NULL;
}

/* The fewest bytes that an element takes: a text is its length and its bytes,
 * a NULL the length alone. */
enum {
    TEXT_LEAST = sizeof(uint32_t),
    PAIR_LEAST = 2 * TEXT_LEAST,
    METRIC_LEAST =
        TEXT_LEAST + sizeof(struct metric_sum) - sizeof(const char *),
    INPUT_LEAST = 7 * TEXT_LEAST,
    ATTEMPT_LEAST = 10 * sizeof(int64_t) + 6 * TEXT_LEAST
};

/* How many elements follow, each of which takes at least `least` bytes. */
static size_t count(struct unpack *u, size_t least)
{
    const size_t n = unpack_u32(u);

    if (u->good && n > (size_t)(u->end - u->at) / least)
        u->good = false;
    return u->good ? n : 0;
}

static struct pair *pairs(struct unpack *u, size_t *n, struct arena *mem)
{
    struct pair *p;

    *n = count(u, PAIR_LEAST);
    p = arena_alloc(mem, *n * sizeof *p);
    for (size_t i = 0; i < *n; i++) {
        p[i].key = unpack_text(u);
        p[i].value = unpack_text(u);
        u->good = u->good && p[i].key && p[i].value;
    }
    return p;
}

static void metric(struct unpack *u, struct metric_sum *m)
{
    m->key = unpack_text(u);
    read_bytes(u, (char *)m + sizeof m->key, sizeof *m - sizeof m->key);
    u->good = u->good && m->key;
}

static void input(struct unpack *u, struct input *in)
{
    in->name = unpack_text(u);
    in->digest = unpack_text(u);
    in->source = unpack_text(u);
    in->source_type = unpack_text(u);
    in->schema = unpack_text(u);
    in->profile = unpack_text(u);
    in->context = unpack_text(u);
    u->good = u->good && in->name;
}

static void attempt(struct unpack *u, struct attempt *a)
{
    a->number = (int)unpack_i64(u);
    a->status = (enum run_status)unpack_i64(u);
    a->start_ms = unpack_i64(u);
    a->end_ms = unpack_i64(u);
    a->beat_ms = unpack_i64(u);
    a->interval_ms = unpack_i64(u);
    a->pid = unpack_i64(u);
    a->pid_start = unpack_i64(u);
    a->cpus = unpack_i64(u);
    a->gpus = unpack_i64(u);
    a->host = unpack_text(u);
    a->boot = unpack_text(u);
    a->job = unpack_text(u);
    a->user = unpack_text(u);
    a->command = unpack_text(u);
    a->reason = unpack_text(u);
}

bool unpack_run(struct unpack *u, struct run_info *r, struct arena *mem)
{
    struct attempt *a;

    r->id = unpack_text(u);
    r->name = unpack_text(u);
    r->artifact_uri = unpack_text(u);
    r->user = unpack_text(u);
    r->damage = unpack_text(u);
    r->torn = unpack_text(u);
    r->status = (enum run_status)unpack_i64(u);
    r->deleted = unpack_i64(u) != 0;
    r->start_ms = unpack_i64(u);
    r->end_ms = unpack_i64(u);
    r->params = pairs(u, &r->n_params, mem);
    r->tags = pairs(u, &r->n_tags, mem);
    r->n_metrics = count(u, METRIC_LEAST);
    r->metrics = arena_alloc(mem, r->n_metrics * sizeof *r->metrics);
    for (size_t i = 0; i < r->n_metrics; i++)
        metric(u, &r->metrics[i]);
    r->n_inputs = count(u, INPUT_LEAST);
    r->inputs = arena_alloc(mem, r->n_inputs * sizeof *r->inputs);
    for (size_t i = 0; i < r->n_inputs; i++)
        input(u, &r->inputs[i]);
    r->attempts = (int)count(u, ATTEMPT_LEAST);
    a = arena_alloc(mem, (size_t)r->attempts * sizeof *a);
    for (int i = 0; i < r->attempts; i++)
        attempt(u, &a[i]);
    r->attempt = r->attempts ? a : NULL;
    return u->good && r->id && r->user;
}
