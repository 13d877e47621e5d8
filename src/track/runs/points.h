#ifndef TRACK_RUNS_POINTS_H
#define TRACK_RUNS_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * points - a line that another program printed, as values with names
 *
 *      {"step": 10, "train/loss": 3.2, "lr": 6e-4}        JSON Lines
 *      step=10 train/loss=3.2 lr=6e-4                     key=value
 *
 * A key=value may stand anywhere in a line, after a blank, a comma or a
 * bracket; "loss: 3.2" with a blank or nothing after the colon counts as one
 * too when asked for.  Objects in JSON are flattened with slashes; strings and
 * other values that are no numbers are passed over, "NaN" and "Infinity" are
 * numbers.
 */
struct values {
    struct values_item {
        char *key;
        double value;
    } * item;
    size_t n, room;
    int64_t step, ms; /* as the line says, or -1 */
    int texts;        /* values that were no numbers */
};

#define VALUES_INIT                                                            \
 {                                                                             \
  NULL, 0, 0, -1, -1, 0                                                        \
 }

/* Take a line apart; false if it holds nothing.  Values of the line before are
 * forgotten. */
bool values_line(struct values *, const char *line);
void values_clear(struct values *);

#endif
