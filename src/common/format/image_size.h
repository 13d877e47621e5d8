#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * image_size - the width and the height of a PNG, GIF or JPEG file
 *
 * False for other files, and for those that end too early.
 */
bool image_size(const void *data, size_t n, uint32_t *width, uint32_t *height);
