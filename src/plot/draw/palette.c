#include "config.h"
#include "plot/draw/palette.h"

#include <math.h>

#include "common/hash.h"

/* clang-format off */
static const struct palette palettes[THEMES] = {
    [THEME_LIGHT] = {
        "light", 0xFFFFFF, 0x1A1A1A, 0xE4E4E4, 0x6E6E6E,
        { 0x0446A3, 0xD55E00, 0x037F44, 0xA12676,
          0x109AEE, 0x693100, 0xD17498, 0x2C3532 },
    },
    [THEME_DARK] = {
        "dark", 0x161B22, 0xE6EDF3, 0x30363D, 0x9AA4AF,
        { 0x4C86E4, 0xE4983C, 0x3FD6A1, 0xB16EA7,
          0xB0CBFF, 0xF9D724, 0xD95C55, 0xFFF9FF },
    },
    [THEME_MONO] = {
        "mono", 0xFFFFFF, 0x000000, 0xDDDDDD, 0x666666,
        { 0x000000, 0x555555, 0x7D7D7D, 0x2A2A2A,
          0x000000, 0x555555, 0x7D7D7D, 0x2A2A2A },
    },
};

/* Viridis at nine places (Smith and van der Walt, 2015; CC0): the lightness
 * grows evenly, with every kind of sight. */
static const uint32_t ramp[] = {
    0x440154, 0x472D7B, 0x3B528B, 0x2C728E, 0x21918C,
    0x28AE80, 0x5EC962, 0xADDC30, 0xFDE725,
};
/* clang-format on */

const struct palette *palette_of(enum theme t)
{
    return &palettes[t];
}

int palette_dash(enum theme t, int slot, int dash)
{
    if (dash)
        return dash % PALETTE_DASHES;
    if (slot < 0 || slot >= COLOUR_RAMP)
        return 0;
    return (t == THEME_MONO ? slot : slot / PALETTE_COLOURS) % PALETTE_DASHES;
}

static int byte_of(uint32_t colour, int shift)
{
    return (int)(colour >> shift & 0xFF);
}

uint32_t palette_mix(uint32_t a, uint32_t b, double part)
{
    uint32_t out = 0;

    for (int shift = 16; shift >= 0; shift -= 8) {
        const double v =
            part * byte_of(a, shift) + (1 - part) * byte_of(b, shift);

        out |= (uint32_t)lround(v) << shift;
    }
    return out;
}

uint32_t palette_ramp(enum theme t, double part)
{
    const int last = (int)(sizeof ramp / sizeof ramp[0]) - 1;
    const double at = fmin(fmax(part, 0), 1) * last;
    const int i = at >= last ? last - 1 : (int)at;

    if (t == THEME_MONO)
        return palette_mix(0xFFFFFF, 0x222222, fmin(fmax(part, 0), 1));
    return palette_mix(ramp[i + 1], ramp[i], at - i);
}

uint32_t palette_curve(enum theme t, int slot)
{
    if (slot >= COLOUR_RAMP) {
        const double part = (slot - COLOUR_RAMP) / 1000.0;

        return palette_ramp(t, t == THEME_LIGHT  ? 0.85 * part
                               : t == THEME_DARK ? 0.3 + 0.7 * part
                                                 : 0.75 * part);
    }
    return slot < 0 ? palettes[t].grey
                    : palettes[t].curve[slot % PALETTE_COLOURS];
}

int palette_ramp_slot(double part)
{
    return COLOUR_RAMP + (int)lround(fmin(fmax(part, 0), 1) * 1000);
}

static double luminance(uint32_t colour)
{
    static const double weight[] = { 0.0722, 0.7152, 0.2126 };
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        const double c = byte_of(colour, 8 * i) / 255.0;

        sum += weight[i] *
               (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double palette_contrast(uint32_t a, uint32_t b)
{
    const double la = luminance(a), lb = luminance(b);

    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

uint32_t palette_on(uint32_t colour)
{
    return palette_contrast(colour, 0xFFFFFF) > palette_contrast(colour, 0)
               ? 0xFFFFFF
               : 0;
}

int palette_slot(const char *name)
{
    const unsigned hash = hash_name32(name);

    /* the last is almost the colour of the axes */
    return (int)((hash ^ hash >> 15) % (PALETTE_COLOURS - 1));
}
