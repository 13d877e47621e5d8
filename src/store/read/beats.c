#include "config.h"
#include "store/read/beats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "store/format/attempt.h"
#include "store/format/store.h"
#include "store/read/index.h"

enum { BEATS_MAX = 1 << 24, FORGET_SECS = 86400 };

struct beat {
    char run[33];
    int number; /* of the attempt */
    long long ms;
    double since; /* seconds after this machine was started */
};

struct beats {
    char *path; /* NULL: there is no cache */
    const char *boot;
    struct arena mem;
    struct beat *item;
    size_t n, room;
    bool changed;
};

static void read_beats(struct beats *b, const char *root)
{
    struct buf text = BUF_INIT;
    struct err none = { 0 };
    size_t boot;

    b->path = index_path(root, ".beats");
    b->boot = attempt_boot_id(&b->mem);
    boot = strlen(b->boot);
    /* those of another start of the machine, or of another machine, are none */
    if (b->path && buf_read_file(&text, b->path, BEATS_MAX, &none) == 0 &&
        strncmp(text.s, b->boot, boot) == 0 && text.s[boot] == '\n')
        for (const char *line = strchr(text.s, '\n'); line;
             line = strchr(line + 1, '\n')) {
            struct beat one;

            if (sscanf(line + 1, "%32s %d %lld %lf", one.run, &one.number,
                       &one.ms, &one.since) != 4 ||
                clock_mono() - one.since > FORGET_SECS)
                continue;
            GROW(b->item, b->n, b->room);
            b->item[b->n++] = one;
        }
    buf_clear(&text);
}

static void write_beats(struct beats *b)
{
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s\n", b->boot);
    for (size_t i = 0; i < b->n; i++)
        buf_printf(&text, "%s %d %lld %.3f\n", b->item[i].run,
                   b->item[i].number, b->item[i].ms, b->item[i].since);
    if (b->path && b->changed)
        index_write(b->path, &text);
    buf_clear(&text);
    free(b->path);
    free(b->item);
    arena_clear(&b->mem);
}

/* How long this machine has seen the heartbeat as it is, in seconds. */
static double seconds_still(struct beats *b, const struct run_info *run,
                            const struct attempt *a)
{
    struct beat now = { .number = a->number,
                        .ms = attempt_beat_ms(run->folder, a),
                        .since = clock_mono() };
    size_t i = 0;

    snprintf(now.run, sizeof now.run, "%s", run->id);
    while (i < b->n && strcmp(b->item[i].run, now.run) != 0)
        i++;
    if (i < b->n && b->item[i].number == now.number && b->item[i].ms == now.ms)
        return now.since - b->item[i].since;
    if (i == b->n) {
        GROW(b->item, b->n, b->room);
        b->n++;
    }
    b->item[i] = now;
    b->changed = true;
    return 0;
}

void beats_judge(struct runs *runs, const char *root)
{
    struct beats b = { 0 };

    for (size_t i = 0; i < runs->n; i++) {
        struct run_info *r = &runs->run[i];
        const size_t n = (size_t)r->attempts;
        const struct attempt *last = n ? &r->attempt[n - 1] : NULL;
        struct attempt *a;

        if (r->status != RUN_RUNNING || !last || last->pid <= 0 ||
            !store_is_id(r->id) ||
            attempt_life(r->folder, last) != ATTEMPT_UNKNOWN)
            continue;
        if (!b.boot)
            read_beats(&b, root);
        if (seconds_still(&b, r, last) * 1000 <= 3 * (double)last->interval_ms)
            continue;
        a = arena_alloc(&runs->mem, n * sizeof *a);
        memcpy(a, r->attempt, n * sizeof *a);
        a[n - 1].status = r->status = RUN_STALE;
        r->attempt = a;
    }
    if (b.boot)
        write_beats(&b);
}
