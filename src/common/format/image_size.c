#include "config.h"
#include "common/format/image_size.h"

#include <string.h>

static uint32_t big16(const unsigned char *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

/* A JPEG file is a row of segments: FF, a marker, and for most of them a length
 * that counts itself.  The size is in the one that begins the frame. */
static bool jpeg_size(const unsigned char *p, size_t n, uint32_t *width,
                      uint32_t *height)
{
    for (size_t at = 2; at + 9 < n && p[at] == 0xff;) {
        const unsigned char marker = p[at + 1];

        if (marker == 0xff) { /* padding */
            at++;
            continue;
        }
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
            marker != 0xc8 && marker != 0xcc) {
            *height = big16(p + at + 5);
            *width = big16(p + at + 7);
            return true;
        }
        at += 2 + big16(p + at + 2);
    }
    return false;
}

bool image_size(const void *data, size_t n, uint32_t *width, uint32_t *height)
{
    const unsigned char *p = data;

    if (n >= 24 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0) {
        *width = big16(p + 16) << 16 | big16(p + 18);
        *height = big16(p + 20) << 16 | big16(p + 22);
        return true;
    }
    if (n >= 10 && memcmp(p, "GIF8", 4) == 0) {
        *width = p[6] | (uint32_t)p[7] << 8;
        *height = p[8] | (uint32_t)p[9] << 8;
        return true;
    }
    return n >= 4 && p[0] == 0xff && p[1] == 0xd8 &&
           jpeg_size(p, n, width, height);
}
