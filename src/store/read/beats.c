#include "config.h"
#include "store/read/beats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/sig.h"
#include "store/format/attempt.h"
#include "store/format/store.h"
#include "store/read/index.h"

enum { BEATS_MAX = 1 << 24 }; /* bytes; larger ones begin anew */

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
    size_t boot;

    b->path = index_path(root, ".beats");
    b->boot = attempt_boot_id(&b->mem);
    boot = strlen(b->boot);
    /* those of another start of the machine, or of another machine, are none */
    if (b->path && buf_read_file(&text, b->path, BEATS_MAX, ERR_IGNORED) == 0 &&
        strncmp(text.s, b->boot, boot) == 0 && text.s[boot] == '\n')
        for (const char *line = strchr(text.s, '\n'); line;
             line = strchr(line + 1, '\n')) {
            struct beat one;

            if (sscanf(line + 1, "%32s %d %lld %lf", one.run, &one.number,
                       &one.ms, &one.since) != 4)
                continue;
            GROW(b->item, b->n, b->room);
            b->item[b->n++] = one;
        }
    buf_clear(&text);
}

static void write_beats(struct beats *b)
{
    struct buf text = BUF_INIT;

    if (!b->boot)
        return;
    buf_printf(&text, "%s\n", b->boot);
    for (size_t i = 0; i < b->n; i++)
        buf_printf(&text, "%s %d %lld %.9f\n", b->item[i].run,
                   b->item[i].number, b->item[i].ms, b->item[i].since);
    if (b->path && b->changed)
        index_write(b->path, &text);
    buf_clear(&text);
    free(b->path);
    free(b->item);
    arena_clear(&b->mem);
}

/* When this machine first saw the heartbeat as it is; now, if it cannot be
 * read. */
static double seen_since(struct beats *b, const struct run_info *run,
                         const struct attempt *a)
{
    struct beat now = { .number = a->number,
                        .ms = attempt_beat_ms(run->folder, a),
                        .since = clock_mono() };
    size_t i = 0;

    snprintf(now.run, sizeof now.run, "%s", run->id);
    while (i < b->n && strcmp(b->item[i].run, now.run) != 0)
        i++;
    if (i < b->n && b->item[i].number == now.number &&
        b->item[i].ms == now.ms && now.ms)
        return b->item[i].since;
    if (i == b->n) {
        GROW(b->item, b->n, b->room);
        b->n++;
    }
    b->item[i] = now;
    b->changed = true;
    return now.since;
}

/* Judge the runs of which only the heartbeat can tell.  Returns the seconds
 * until all are judged but those whose heartbeat moved after `first`. */
static double judge(struct beats *b, struct runs *runs, const char *root,
                    double first)
{
    double left = 0;

    for (size_t i = 0; i < runs->n; i++) {
        struct run_info *r = &runs->run[i];
        const size_t n = (size_t)r->attempts;
        const struct attempt *last = n ? &r->attempt[n - 1] : NULL;
        struct attempt *a;
        double since, more;

        if (r->status != RUN_RUNNING || !last || last->pid <= 0 ||
            !store_is_id(r->id) ||
            attempt_life(r->folder, last) != ATTEMPT_UNKNOWN)
            continue;
        if (!b->boot)
            read_beats(b, root);
        since = seen_since(b, r, last);
        more = since + 3 * (double)last->interval_ms / 1000 - clock_mono();
        if (more >= 0) {
            left = since <= first ? fmax(left, more) : left;
            continue;
        }
        a = arena_alloc(&runs->mem, n * sizeof *a);
        memcpy(a, r->attempt, n * sizeof *a);
        a[n - 1].status = r->status = RUN_STALE;
        r->attempt = a;
    }
    return left;
}

void beats_judge(struct runs *runs, const char *root)
{
    struct beats b = { 0 };

    judge(&b, runs, root, 0);
    write_beats(&b);
}

void beats_await(struct runs *runs, const char *root)
{
    struct beats b = { 0 };
    double first = INFINITY, left;

    while ((left = judge(&b, runs, root, first)) > 0 && !sig_caught()) {
        if (isinf(first))
            log_info("waiting up to %.0f s to see whether processes of other "
                     "machines still write",
                     left);
        first = fmin(first, clock_mono());
        usleep(left < 1 ? 10000 : 250000);
    }
    write_beats(&b);
}
