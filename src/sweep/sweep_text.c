/*
 * sweep_text - texts in which a cell's values stand for their keys
 */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "sweep/sweep.h"

const char *sweep_value(const struct sweep *w, size_t cell, const char *key)
{
    const char *value = NULL;

    for (size_t i = 0; i < w->n_axes; i++)
        if (strcmp(w->axis[i].key, key) == 0)
            value = w->cell[cell].value[i];
    for (size_t i = w->n_sets; (!value || !*value) && i-- > 0;)
        if (strcmp(w->set[i].key, key) == 0)
            return w->set[i].value;
    return value;
}

/* The end of the name in "{name}", or NULL if this is no placeholder. */
static const char *name_end(const char *open)
{
    const char *end = open + 1;

    while (isalnum((unsigned char)*end) || (*end && strchr("._-/", *end)))
        end++;
    return *end == '}' && end > open + 1 ? end : NULL;
}

int sweep_fill(struct buf *out, const char *text, sweep_value_fn *value,
               void *arg, struct err *e)
{
    while (*text) {
        const bool twice = text[0] == '{' && text[1] == '{';
        const char *open = text + twice;
        const char *end = *text == '{' ? name_end(open) : NULL;

        if (!end || (twice && end[1] != '}')) {
            buf_char(out, *text++);
            continue;
        }
        if (twice) {
            buf_add(out, open, (size_t)(end - open) + 1);
            text = end + 2;
            continue;
        }
        if (!value(arg, text + 1, (size_t)(end - text) - 1, out))
            return err_set(e, ERR_USAGE,
                           "the sweep has no setting for %.*s; write {%.*s} "
                           "for this text itself",
                           (int)(end - text) + 1, text, (int)(end - text) + 1,
                           text);
        text = end + 1;
    }
    return 0;
}

/* The last part of a key, unless the end of another axis is the same. */
static const char *short_key(const struct sweep *w, size_t axis)
{
    const char *key = w->axis[axis].key, *dot = strrchr(key, '.');

    for (size_t i = 0; dot && i < w->n_axes; i++)
        if (i != axis && str_ends(w->axis[i].key, dot))
            return key;
    return dot ? dot + 1 : key;
}

char *sweep_cell_name(const struct sweep *w, size_t cell, const char *begin)
{
    struct buf b = BUF_INIT;

    buf_str(&b, begin);
    for (size_t i = 0; i < w->n_axes; i++)
        if (*w->cell[cell].value[i] && (w->axis[i].n > 1 || w->n_cells == 1))
            buf_printf(&b, "-%s=%s", short_key(w, i), w->cell[cell].value[i]);
    return buf_detach(&b);
}
