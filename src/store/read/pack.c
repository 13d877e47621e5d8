#include "config.h"
#include "store/read/pack.h"

#include <string.h>

#include "store/format/attempt.h"

/* Which members of a struct are strings. */
struct texts {
    size_t n;
    size_t at[8]; /* their offsets */
};

#define PAIR(member)    offsetof(struct pair, member)
#define DATASET(member) offsetof(struct run_dataset, member)
#define ATTEMPT(member) offsetof(struct attempt, member)
#define RUN(member)     offsetof(struct run_info, member)

static const struct texts pair_texts = { 2, { PAIR(key), PAIR(value) } };

static const struct texts input_texts = {
    7,
    { DATASET(name), DATASET(digest), DATASET(source), DATASET(source_type),
      DATASET(schema), DATASET(profile), DATASET(context) },
};

static const struct texts attempt_texts = {
    8,
    { ATTEMPT(host), ATTEMPT(boot), ATTEMPT(pids), ATTEMPT(lock), ATTEMPT(job),
      ATTEMPT(user), ATTEMPT(command), ATTEMPT(reason) },
};

static const struct texts run_texts = {
    6,
    { RUN(id), RUN(name), RUN(artifact_uri), RUN(user), RUN(damage),
      RUN(torn) },
};

/* The numbers of a metric, which follow its key, and of an attempt, between its
 * status and its strings, are copied as they are. */
enum {
    METRIC_AT = sizeof(const char *),
    METRIC_SIZE = sizeof(struct metric_sum) - METRIC_AT,
    ATTEMPT_AT = ATTEMPT(start_ms),
    ATTEMPT_SIZE = ATTEMPT(host) - ATTEMPT_AT,
};

/* -- packing ----------------------------------------------------------- */

void pack_u32(struct buf *b, uint32_t n)
{
    buf_add(b, &n, sizeof n);
}

void pack_i64(struct buf *b, int64_t n)
{
    buf_add(b, &n, sizeof n);
}

void pack_bytes(struct buf *b, const void *data, size_t n)
{
    pack_u32(b, (uint32_t)n);
    buf_add(b, data, n);
}

void pack_text(struct buf *b, const char *s)
{
    pack_bytes(b, s, s ? strlen(s) + 1 : 0);
}

static void pack_texts(struct buf *b, const struct texts *texts,
                       const void *from)
{
    for (size_t i = 0; i < texts->n; i++) {
        const char *s;

        memcpy(&s, (const char *)from + texts->at[i], sizeof s);
        pack_text(b, s);
    }
}

static void pack_pairs(struct buf *b, const struct pair *p, size_t n)
{
    pack_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        pack_texts(b, &pair_texts, &p[i]);
}

void pack_run(struct buf *b, const struct run_info *r)
{
    pack_texts(b, &run_texts, r);
    pack_i64(b, r->status);
    pack_i64(b, r->deleted);
    pack_i64(b, r->start_ms);
    pack_i64(b, r->end_ms);
    pack_pairs(b, r->params, r->n_params);
    pack_pairs(b, r->tags, r->n_tags);
    pack_u32(b, (uint32_t)r->n_metrics);
    for (size_t i = 0; i < r->n_metrics; i++) {
        pack_text(b, r->metrics[i].key);
        buf_add(b, (const char *)&r->metrics[i] + METRIC_AT, METRIC_SIZE);
    }
    pack_u32(b, (uint32_t)r->n_inputs);
    for (size_t i = 0; i < r->n_inputs; i++)
        pack_texts(b, &input_texts, &r->inputs[i]);
    pack_u32(b, (uint32_t)r->attempts);
    for (int i = 0; i < r->attempts; i++) {
        const struct attempt *a = &r->attempt[i];

        pack_i64(b, a->number);
        pack_i64(b, a->status);
        buf_add(b, (const char *)a + ATTEMPT_AT, ATTEMPT_SIZE);
        pack_texts(b, &attempt_texts, a);
    }
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

static void unpack_texts(struct unpack *u, const struct texts *texts, void *to)
{
    for (size_t i = 0; i < texts->n; i++) {
        const char *s = unpack_text(u);

        memcpy((char *)to + texts->at[i], &s, sizeof s);
    }
}

/* An array of elements, each of which takes at least `least` bytes; *n becomes
 * their number. */
static void *unpack_array(struct unpack *u, struct arena *mem, size_t least,
                          size_t size, size_t *n)
{
    *n = unpack_u32(u);
    if (!u->good || *n > (size_t)(u->end - u->at) / least) {
        u->good = false;
        *n = 0;
    }
    return arena_alloc(mem, *n * size);
}

enum { TEXT_LEAST = sizeof(uint32_t) }; /* the length; a NULL is that alone */

static struct pair *unpack_pairs(struct unpack *u, struct arena *mem, size_t *n)
{
    struct pair *p = unpack_array(u, mem, 2 * TEXT_LEAST, sizeof *p, n);

    for (size_t i = 0; i < *n; i++) {
        unpack_texts(u, &pair_texts, &p[i]);
        u->good = u->good && p[i].key && p[i].value;
    }
    return p;
}

static void unpack_attempt(struct unpack *u, struct attempt *a)
{
    a->number = (int)unpack_i64(u);
    a->status = (enum run_status)unpack_i64(u);
    read_bytes(u, (char *)a + ATTEMPT_AT, ATTEMPT_SIZE);
    unpack_texts(u, &attempt_texts, a);
}

bool unpack_run(struct unpack *u, struct run_info *r, struct arena *mem)
{
    struct attempt *a;
    size_t n;

    unpack_texts(u, &run_texts, r);
    r->status = (enum run_status)unpack_i64(u);
    r->deleted = unpack_i64(u) != 0;
    r->start_ms = unpack_i64(u);
    r->end_ms = unpack_i64(u);
    r->params = unpack_pairs(u, mem, &r->n_params);
    r->tags = unpack_pairs(u, mem, &r->n_tags);
    r->metrics = unpack_array(u, mem, TEXT_LEAST + METRIC_SIZE,
                              sizeof *r->metrics, &r->n_metrics);
    for (size_t i = 0; i < r->n_metrics; i++) {
        r->metrics[i].key = unpack_text(u);
        read_bytes(u, (char *)&r->metrics[i] + METRIC_AT, METRIC_SIZE);
        u->good = u->good && r->metrics[i].key;
    }
    r->inputs =
        unpack_array(u, mem, 7 * TEXT_LEAST, sizeof *r->inputs, &r->n_inputs);
    for (size_t i = 0; i < r->n_inputs; i++) {
        unpack_texts(u, &input_texts, &r->inputs[i]);
        u->good = u->good && r->inputs[i].name;
    }
    a = unpack_array(u, mem,
                     2 * sizeof(int64_t) + ATTEMPT_SIZE + 8 * TEXT_LEAST,
                     sizeof *a, &n);
    for (size_t i = 0; i < n; i++)
        unpack_attempt(u, &a[i]);
    r->attempts = (int)n;
    r->attempt = n ? a : NULL;
    return u->good && r->id && r->user;
}
