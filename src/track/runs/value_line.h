#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * value_line - the named values in a line that another program printed
 *
 * gtrack(1), log, says which values are found.  Strings and other values that
 * are not numbers are skipped; "NaN" and "Infinity" are numbers.  A line whose
 * step is too large to be recorded exactly has no value, and is warned of once.
 */
struct value_line {
    struct value_line_item {
        char *key;
        double value;
    } * item;
    size_t n, room;
    int64_t step, ms; /* as the line has them, or -1 */
    bool refused;     /* its step cannot be recorded exactly */
    bool warned;      /* that was said */
};

#define VALUE_LINE_INIT                                                        \
    ((struct value_line){ NULL, 0, 0, -1, -1, false, false })

/* Parse a line, in place of the one before; false if it has no value. */
bool value_line_parse(struct value_line *, const char *line);
void value_line_clear(struct value_line *);
