#pragma once

#include <stdbool.h>

/*
 * file_kind - how an artifact is shown, by its name
 *
 * A type is one that a browser shows and never runs: HTML and scripts are plain
 * text, and an SVG may only be an image.
 */
struct file_kind {
    const char *name; /* "text", "image", "audio", "binary" ... */
    const char *type; /* of HTTP */
    bool sandbox;     /* it might contain something that runs */
};

const struct file_kind *file_kind_of(const char *path);
