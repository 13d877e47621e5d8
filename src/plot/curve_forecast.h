#ifndef PLOT_CURVE_FORECAST_H
#define PLOT_CURVE_FORECAST_H

#include "plot/figures.h"

/*
 * curve_forecast - draw the forecast of the rest of a curve
 *
 * It is a dashed curve with its interval as a band, as `gtrack forecast` prints
 * them, and a note says how good the interval is.  A run that has ended, or a
 * metric that cannot be forecast, is left out with a message.
 */
void curve_forecast(struct build *, struct panel *, const struct run_info *,
                    const char *key, int slot);

#endif
