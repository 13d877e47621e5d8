#include "config.h"
#include "common/output/emit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "common/utf8.h"

/* The number of bytes from p that need no escape. */
static size_t plain_length(const uint8_t *p, const uint8_t *end, bool ascii)
{
    const uint8_t *start = p;

    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20) {
        uint32_t c = 0;
        const size_t n = *p < 0x80 ? 1 : utf8_decode(p, end, &c);

        if (c == UTF8_BAD || (ascii && *p >= 0x7f))
            break;
        p += n;
    }
    return (size_t)(p - start);
}

static void escape(struct buf *b, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c && c < 0x80 ? strchr(from, (int)c) : NULL;

    if (found)
        buf_printf(b, "\\%c", to[found - from]);
    else if (c < 0x10000)
        buf_printf(b, "\\u%04x", c);
    else
        buf_printf(b, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10),
                   0xDC00 + (c & 0x3FF));
}

void emit_quote(struct buf *b, const void *text, size_t n, bool ascii)
{
    const uint8_t *p = text, *const end = p + n;

    buf_char(b, '"');
    for (;;) {
        const size_t plain = plain_length(p, end, ascii);
        uint32_t c;

        buf_add(b, p, plain);
        p += plain;
        if (p == end)
            break;
        p += utf8_decode(p, end, &c);
        escape(b, c == UTF8_BAD ? UTF8_REPLACEMENT : c);
    }
    buf_char(b, '"');
}

static void indent(struct emit *o)
{
    buf_char(o->b, '\n');
    for (int i = 0; i < o->depth && !o->no_indent; i++)
        buf_str(o->b, "  ");
}

/* Write what precedes a value. */
static void begin_value(struct emit *o, const char *key)
{
    if (o->comma)
        buf_char(o->b, ',');
    if (o->depth > 0 && o->depth <= o->lines)
        indent(o);
    else if (o->comma && o->spaced)
        buf_char(o->b, ' ');
    o->comma = true;
    if (key) {
        emit_quote(o->b, key, strlen(key), o->ascii);
        buf_str(o->b, o->spaced ? ": " : ":");
    }
}

void emit_raw(struct emit *o, const char *key, const char *json)
{
    begin_value(o, key);
    buf_str(o->b, json);
}

static void open_value(struct emit *o, const char *key, const char *bracket)
{
    emit_raw(o, key, bracket);
    o->comma = false;
    o->depth++;
}

static void close_value(struct emit *o, char bracket)
{
    const bool on_line = o->comma && o->depth <= o->lines;

    o->depth--;
    if (on_line)
        indent(o);
    buf_char(o->b, bracket);
    o->comma = true;
}

void emit_object(struct emit *o, const char *key)
{
    open_value(o, key, "{");
}

void emit_object_end(struct emit *o)
{
    close_value(o, '}');
}

void emit_array(struct emit *o, const char *key)
{
    open_value(o, key, "[");
}

void emit_array_end(struct emit *o)
{
    close_value(o, ']');
}

void emit_newline(struct emit *o)
{
    buf_char(o->b, '\n');
    o->comma = false;
}

void emit_bytes(struct emit *o, const char *key, const void *text, size_t n)
{
    begin_value(o, key);
    emit_quote(o->b, text, n, o->ascii);
}

void emit_text(struct emit *o, const char *key, const char *value)
{
    if (value)
        emit_bytes(o, key, value, strlen(value));
    else
        emit_null(o, key);
}

void emit_printf(struct emit *o, const char *key, const char *fmt, ...)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    emit_text(o, key, text.s);
}

void emit_int(struct emit *o, const char *key, int64_t value)
{
    begin_value(o, key);
    buf_printf(o->b, "%" PRId64, value);
}

void emit_real(struct emit *o, const char *key, double value)
{
    static const char *const odd[][3] = {
        [EMIT_SHORT] = { "null", "null", "null" },
        [EMIT_QUOTED] = { "\"NaN\"", "\"Infinity\"", "\"-Infinity\"" },
        [EMIT_BARE] = { "NaN", "Infinity", "-Infinity" },
    };
    char text[NUM_TEXT];

    if (!isfinite(value)) {
        emit_raw(o, key, odd[o->reals][isnan(value) ? 0 : value > 0 ? 1 : 2]);
        return;
    }
    if (o->reals == EMIT_SHORT && fabs(value) < 1e15 && value >= -1e15 &&
        (double)(int64_t)value - value == 0.0) {
        emit_int(o, key, (int64_t)value);
        return;
    }
    if (o->digits > 0)
        snprintf(text, sizeof text, "%.*g", o->digits, value);
    else
        num_shortest(text, value);
    emit_raw(o, key, text);
}

void emit_reals(struct emit *o, const char *key, const double *value, size_t n)
{
    emit_array(o, key);
    for (size_t i = 0; i < n; i++)
        emit_real(o, NULL, value[i]);
    emit_array_end(o);
}

void emit_bool(struct emit *o, const char *key, bool value)
{
    emit_raw(o, key, value ? "true" : "false");
}

void emit_null(struct emit *o, const char *key)
{
    emit_raw(o, key, "null");
}
