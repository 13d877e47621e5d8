#ifndef PLOT_DRAW_PALETTE_H
#define PLOT_DRAW_PALETTE_H

#include <stdint.h>

/*
 * palette - colours that can be told apart
 *
 * Eight colours for curves on white, eight on dark, eight greys.  Any two of a
 * palette stay apart for people with normal sight, protanopia, deuteranopia or
 * tritanopia, and each has a contrast of at least 3 to the ground, what WCAG
 * 2.1 (1.4.11) asks of graphics; t/unit/plot.c computes both.  Slots beyond the
 * eighth repeat the colours with the next dash pattern.
 *
 * Colours are 0xRRGGBB.
 */
enum theme { THEME_LIGHT, THEME_DARK, THEME_MONO, THEMES };

enum { PALETTE_COLOURS = 8, PALETTE_DASHES = 5, COLOUR_GREY = -1 };

struct palette {
    const char *name;
    uint32_t ground, text, grid, grey;
    uint32_t curve[PALETTE_COLOURS];
};

const struct palette *palette_of(enum theme);
uint32_t palette_curve(enum theme, int slot);
/* The dash pattern of a slot, 0 is solid; mono dashes from the second on. */
int palette_dash(enum theme, int slot);
/* part of a, the rest of b; 0.25 is a quarter of a. */
uint32_t palette_mix(uint32_t a, uint32_t b, double part);
/* 0..1 to a colour of growing lightness, for heat maps. */
uint32_t palette_ramp(enum theme, double part);
/* Black or white, whichever is better read on this colour. */
uint32_t palette_on(uint32_t colour);
/* WCAG's contrast ratio of two colours, 1..21. */
double palette_contrast(uint32_t a, uint32_t b);

/* The slot a run likes, by its name: 42 for "run42". */
int palette_slot(const char *name);

#endif
