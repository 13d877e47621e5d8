#pragma once

#include "sweep/sweep.h"
#include "trainer/settings/settings.h"

/*
 * sweep_cells - the settings of the cells of a sweep
 *
 *      if (sweep_cells_in(path)) {
 *          sweep_init(&sweep, "train.seed");
 *          if (sweep_read(&sweep, path, e) < 0 || sweep_expand(&sweep, e) < 0)
 *              return -1;
 *          for (size_t c = 0; c < sweep.n_cells; c++)
 *              ... sweep_cells_load(&sweep, c, &settings, e) ...
 *      }
 *
 * A cell has the settings of the base, of the sweep's file, and its values.
 * Its run.name is that of the settings, in which {optim.lr} stands for this
 * setting.  A name without such a part, or that of the sweep if there is none,
 * is followed by the values: "grid-lr=0.01-width=64".
 */
int sweep_cells_load(const struct sweep *, size_t cell, struct settings *,
                     struct err *);
/* Does a settings file describe a sweep? */
bool sweep_cells_in(const char *path);
