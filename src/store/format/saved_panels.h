#pragma once

#include <jansson.h>

#include "common/err.h"

/*
 * saved_panels - the panels that were saved under names in a store
 *
 *      mlruns/panels.json      {"night": "loss,train/lr", ...}
 *
 * The text is that of `gplot dashboard --panels`.
 */

/* The object; it is empty if nothing was saved.  NULL after a failure. */
json_t *saved_panels_load(const char *root, struct err *);
/* Save panels under a name; empty ones remove it. */
int saved_panels_put(const char *root, const char *name, const char *panels,
                     struct err *);
