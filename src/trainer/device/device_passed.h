#ifndef TRAINER_DEVICE_DEVICE_PASSED_H
#define TRAINER_DEVICE_DEVICE_PASSED_H

#include <stdbool.h>

#include "kernels/dev.h"
#include "trainer/settings/settings.h"

/*
 * device_passed - the devices that have passed their check
 *
 * They are kept in a file, $XDG_CACHE_HOME/gtrain/checked or under ~/.cache,
 * one line for each program, GPU, driver, libraries and kind of model.  If the
 * file cannot be read or written, the check is repeated.  It can be deleted at
 * any time.
 */
bool device_passed(struct dev *, const struct settings *);
void device_passed_add(struct dev *, const struct settings *);

#endif
