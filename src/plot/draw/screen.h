#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "plot/draw/palette.h"
#include "plot/draw/term.h"

/*
 * screen - the characters of a terminal, with their colours
 *
 * Nothing is drawn outside the screen.
 */

/* A character of the screen: a code point, or the dots of lines. */
struct cell {
    int32_t code; /* 0: dots; -1: the right half of a wide character */
    uint8_t dots;
    uint32_t rgb;
    bool plain; /* in the terminal's own colour */
};

struct screen {
    const struct term_look *look;
    enum theme theme;
    int width, height;
    struct cell *cell;
};

/* NULL outside. */
struct cell *screen_cell(struct screen *, int x, int y);
/* Text from column x on, cut at the right edge of the screen; in the terminal's
 * own colour if rgb is NULL. */
void screen_text(struct screen *, int x, int y, const char *text,
                 const uint32_t *rgb);
/* A character, unless something is there already. */
void screen_behind(struct screen *, int x, int y, int32_t code, uint32_t rgb);
void screen_print(const struct screen *, struct buf *out);
