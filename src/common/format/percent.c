#include "config.h"
#include "common/format/percent.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void percent_add(struct buf *b, const char *text, const char *keep)
{
    for (; *text; text++)
        if (isalnum((unsigned char)*text) || strchr(keep, *text))
            buf_char(b, *text);
        else
            buf_printf(b, "%%%02X", (unsigned char)*text);
}

bool percent_decode(char *text)
{
    char *to = text;
    bool good = true;

    for (const char *s = text; *s; s++) {
        unsigned byte = 0;

        if (*s == '%' && isxdigit((unsigned char)s[1]) &&
            isxdigit((unsigned char)s[2]))
            sscanf(s + 1, "%2x", &byte);
        good = good && (byte || *s != '%');
        *to++ = byte ? (char)byte : *s;
        s += byte ? 2 : 0;
    }
    *to = '\0';
    return good;
}
