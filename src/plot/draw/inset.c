#include "config.h"
#include "plot/draw/inset.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "plot/draw/axis.h"
#include "plot/draw/grid.h"
#include "plot/draw/layout.h"

/* A free place of this size: the higher, and the farther right, the better. */
static bool find_size(struct panel *p, const struct grid *g, double wide,
                      double high)
{
    const int w = (int)ceil(wide * GRID_X), h = (int)ceil(high * GRID_Y);

    for (int y = GRID_Y - h; y >= 0; y--)
        for (int x = GRID_X - w; x >= 0; x--)
            if (grid_is_free(g, x, y, w, h)) {
                p->inset = (struct box){ (double)x / GRID_X, (double)y / GRID_Y,
                                         (double)(x + w) / GRID_X,
                                         (double)(y + h) / GRID_Y };
                return true;
            }
    return false;
}

static bool find_place(struct figure *f, struct panel *p, size_t panel)
{
    static const double size[][2] = {
        { 0.72, 0.62 }, { 0.64, 0.56 }, { 0.56, 0.5 }, { 0.5, 0.46 }
    };
    struct grid *g = xmalloc(sizeof *g);
    struct layout l;
    bool found = false;

    layout_panel(&l, f, panel);
    grid_fill(g, f, p, &l.plot);
    grid_box(g, axis_place(&p->x, p->inset_x.lo),
             axis_place(&p->y, p->inset_y.lo), axis_place(&p->x, p->inset_x.hi),
             axis_place(&p->y, p->inset_y.hi));
    for (size_t i = 0; i < sizeof size / sizeof size[0] && !found; i++)
        found = find_size(p, g, size[i][0], size[i][1]);
    free(g);
    return found;
}

void inset_place(struct figure *f, size_t panel)
{
    struct panel *p = f->panel[panel];
    const double hi = p->y.hi;

    if (find_place(f, p, panel))
        return;
    for (int i = 1; i <= 6 && !p->y.fixed && !p->has_y2; i++) {
        axis_extend(&p->y, 0.2 * i, p->y.lo, hi);
        if (find_place(f, p, panel)) {
            axis_renew(&p->y, &f->mem);
            return;
        }
    }
    p->y.hi = hi;
    p->inset = (struct box){ 0.5, 0.54, 1, 1 };
}
