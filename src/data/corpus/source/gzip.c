/*
 * gzip - gzip data, member after member
 */
#include "config.h"
#include "data/corpus/source/gzip.h"

#include <stdlib.h>

#include "common/mem.h"
#include "data/corpus/source/source.h"

struct gzip {
    struct gzip_state *state;
    bool between; /* two members: only there may the file end */
    const char *damage;
};

static void *gzip_open(struct err *e)
{
    struct gzip *g = xcalloc(1, sizeof *g);

    g->state = gzip_state_new();
    if (g->state)
        return g;
    err_set(e, ERR_SYSTEM, "not enough memory to inflate gzip data");
    free(g);
    return NULL;
}

static void gzip_close(void *inflater)
{
    struct gzip *g = inflater;

    gzip_state_free(g->state);
    free(g);
}

static ssize_t gzip_read(void *inflater, struct source_input *f, void *buf,
                         size_t n, struct err *e)
{
    struct gzip *g = inflater;
    uint8_t *to = buf, *const end = to + (n < 1u << 30 ? n : 1u << 30);

    while (to < end && !g->damage) {
        const ssize_t got = source_fill(f, e);

        if (got < 0)
            return -1;
        if (got == 0 && g->between)
            break;
        if (got == 0) {
            g->damage = "it ends early; was the download interrupted?";
            break;
        }
        if (g->between) {
            const int more = source_next_member(f);

            if (more < 0)
                g->damage = "other data follows it";
            if (more <= 0)
                continue;
        }
        g->between = gzip_state_inflate(g->state, &f->at, &f->left, &to, end,
                                        &g->damage);
    }
    if (g->damage && to == buf)
        return err_set(e, ERR_INPUT, "damaged gzip data: %s", g->damage);
    return to - (uint8_t *)buf;
}

const struct inflater gzip_inflater = {
    .name = "gzip",
    .open = gzip_open,
    .read = gzip_read,
    .close = gzip_close,
};
