#pragma once

#include <stdbool.h>

#include "common/buf.h"

/*
 * secret - keep passwords and keys out of what is stored and shown
 *
 *      secret_mask(&b, "curl --api-key X https://me:PW@host")
 *                      appends "curl --api-key *** https://me:***@host"
 *
 * Three things tell a secret: the name that it has, as in --api-key X,
 * WANDB_API_KEY=X, "password": "X" or ?access_token=X; its place, before the
 * last @ of the host of a URL; and its beginning, such as hf_, ghp_ or AKIA.
 * Names of tokens of a vocabulary, such as eos_token, are not those of secrets.
 * What is masked already stays as it is.
 */
void secret_mask(struct buf *out, const char *text);
/* A command as a line for a shell. */
void secret_mask_command(struct buf *out, int argc, char *const *argv);
/* A value by its name, by places and by beginnings, but not by names in it: a
 * text of somebody may have such words.  JSON has only names that count. */
void secret_mask_named(struct buf *out, const char *name, const char *value);

/* Would secret_mask_named() change it? */
bool secret_is_named(const char *name, const char *value);
