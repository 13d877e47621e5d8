#ifndef TRACK_IMPORT_WANDB_ITEMS_H
#define TRACK_IMPORT_WANDB_ITEMS_H

#include <jansson.h>

#include "common/format/protobuf.h"

/*
 * wandb_items - keys and values in the records of W&B, as JSON
 *
 * A record of history, of the config or of the summary has items, each with a
 * key, which may be a path through nested objects, and a value.
 */

/* Add to an object the items that a message has in one of its fields; an item
 * without a value removes the key. */
void wandb_items_add(json_t *object, struct protobuf message, int field);

/* Call a function for each value of nested objects, with a key like a/b/c.
 * Images, tables and the like are values: objects with a "_type". */
typedef void wandb_items_fn(void *arg, const char *key, json_t *value);

void wandb_items_each(const char *prefix, json_t *object, char separator,
                      wandb_items_fn *, void *arg);

#endif
