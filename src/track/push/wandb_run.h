#ifndef TRACK_PUSH_WANDB_RUN_H
#define TRACK_PUSH_WANDB_RUN_H

#include <jansson.h>

#include "store/read/runs.h"

/*
 * wandb_run - the description of a run that W&B expects
 */

/* Its parameters, each under "value". */
json_t *wandb_config(const struct run_info *);
/* The tags of the user, each as "key" or "key=value"; null if there are
 * none. */
json_t *wandb_tags(const struct run_info *);
/* The text of wandb-metadata.json; the caller frees it. */
char *wandb_metadata(const struct run_info *);
/* The exit status of a run that has ended. */
int wandb_exit_code(const struct run_info *);
/* The value of a tag, NULL if it is empty. */
const char *wandb_tag(const struct run_info *, const char *key);

#endif
