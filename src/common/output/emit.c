#include "config.h"
#include "common/output/emit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/num.h"
#include "common/output/table.h"

/* Write what precedes a value. */
static void begin_value(struct emit *o, const char *key)
{
    if (o->comma)
        buf_char(o->b, ',');
    o->comma = true;
    if (key) {
        table_json_text(o->b, key);
        buf_char(o->b, ':');
    }
}

void emit_raw(struct emit *o, const char *key, const char *json)
{
    begin_value(o, key);
    buf_str(o->b, json);
}

void emit_object(struct emit *o, const char *key)
{
    emit_raw(o, key, "{");
    o->comma = false;
}

void emit_object_end(struct emit *o)
{
    buf_char(o->b, '}');
    o->comma = true;
}

void emit_array(struct emit *o, const char *key)
{
    emit_raw(o, key, "[");
    o->comma = false;
}

void emit_array_end(struct emit *o)
{
    buf_char(o->b, ']');
    o->comma = true;
}

void emit_text(struct emit *o, const char *key, const char *value)
{
    if (!value) {
        emit_null(o, key);
        return;
    }
    begin_value(o, key);
    table_json_text(o->b, value);
}

void emit_printf(struct emit *o, const char *key, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    emit_text(o, key, text.s);
    buf_clear(&text);
}

void emit_int(struct emit *o, const char *key, int64_t value)
{
    begin_value(o, key);
    buf_printf(o->b, "%" PRId64, value);
}

void emit_real(struct emit *o, const char *key, double value)
{
    char text[NUM_TEXT];

    if (!isfinite(value)) {
        emit_null(o, key);
        return;
    }
    if (fabs(value) < 1e15 && value >= -1e15 &&
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
