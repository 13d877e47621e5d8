#pragma once

#include <stdint.h>

/*
 * palette - the colours of a figure
 *
 * Eight colours for curves on a white background, eight on a dark one, and
 * greys for print.  Any two colours of a palette are distinct with normal
 * sight, protanopia, deuteranopia and tritanopia, and each has a contrast of at
 * least 3 to the background, as WCAG 2.1 (1.4.11) requires for graphics;
 * t/unit/plot.c computes both.  A slot is a number from 0; slots after the
 * eighth repeat the colours with the next dash pattern.
 *
 * Colours are 0xRRGGBB.
 */
enum theme { THEME_LIGHT, THEME_DARK, THEME_MONO, THEMES };

enum {
    PALETTE_COLOURS = 8,
    PALETTE_DASHES = 5,
    COLOUR_GREY = -1,
    COLOUR_NONE = -2,
    COLOUR_RAMP = 1000000
};

struct palette {
    const char *name;
    uint32_t ground, text, grid, grey;
    uint32_t curve[PALETTE_COLOURS];
};

const struct palette *palette_of(enum theme);
uint32_t palette_curve(enum theme, int slot);
/* The dash pattern that a curve has, or else that of its slot, 0 for solid;
 * greys use one for each slot. */
int palette_dash(enum theme, int slot, int dash);
/* A mixture of two colours: with part 0.25, a quarter is a. */
uint32_t palette_mix(uint32_t a, uint32_t b, double part);
/* A colour for 0 to 1, dark to light, for heat maps. */
uint32_t palette_ramp(enum theme, double part);
/* A slot that stands for a place on the ramp, 0 to 1.  The end that is hard to
 * see on the background is left out. */
int palette_ramp_slot(double part);
/* Black or white, whichever has more contrast to this colour. */
uint32_t palette_on(uint32_t colour);
/* WCAG's contrast ratio of two colours, 1..21. */
double palette_contrast(uint32_t a, uint32_t b);

/* A slot for a run that has no colour of its own, from a hash of its name. */
int palette_slot(const char *name);
