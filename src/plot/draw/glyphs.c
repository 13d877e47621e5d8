#include "config.h"
#include "plot/draw/glyphs.h"

#include <stdio.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/spawn.h"

/* The usual fonts have the letters, arrows and mathematics below this. */
enum { FIRST = 0x2300 };

static bool ask_fontconfig(int32_t code)
{
    char charset[32];
    const char *const argv[] = { "fc-list", charset, "family", NULL };
    struct buf out = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .out = &out, .words = &words, .secs = 10 };
    struct err e = ERR_INIT;
    bool have;

    snprintf(charset, sizeof charset, ":charset=%x", (unsigned)code);
    have = spawn_run(argv, &s, &e) < 0 || out.len > 0;
    if (!have)
        log_warn("no installed font has U+%04X; '?' is drawn instead",
                 (unsigned)code);
    buf_clear(&out);
    buf_clear(&words);
    return have;
}

bool glyphs_have(struct glyphs *g, int32_t code)
{
    const int room = sizeof g->known / sizeof g->known[0];
    bool have;

    if (code < FIRST)
        return true;
    for (int i = 0; i < g->n; i++)
        if (g->known[i].code == code)
            return g->known[i].have;
    have = ask_fontconfig(code);
    if (g->n < room) {
        g->known[g->n].code = code;
        g->known[g->n++].have = have;
    }
    return have;
}
