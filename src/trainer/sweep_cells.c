#include "config.h"
#include "trainer/sweep_cells.h"

#include <string.h>

#include "common/buf.h"

static int find_section(void *arg, const char *key, const char *value UNUSED,
                        const char *where UNUSED, struct err *e UNUSED)
{
    static const char *const sections[] = { "sweep.", "grid.", "random." };
    bool *found = arg;

    for (int i = 0; i < 3; i++)
        if (strncmp(key, sections[i], strlen(sections[i])) == 0)
            *found = true;
    return 0;
}

bool sweep_cells_in(const char *path)
{
    bool found = false;

    conf_walk(path, false, find_section, &found, NULL, ERR_IGNORED);
    return found;
}

struct named_cell {
    const struct sweep *sweep;
    size_t cell;
    const struct conf *conf;
};

/* An axis has the value as it was written. */
static bool find_value(void *arg, const char *key, size_t n, struct buf *out)
{
    const struct named_cell *c = arg;
    AUTO_FREE char *word = xstrndup(key, n);
    const char *value = sweep_value(c->sweep, c->cell, word);
    const struct setting *row = conf_find(c->conf, word);

    if (value)
        buf_str(out, value);
    else if (row)
        conf_text(c->conf, row, out);
    return value || row;
}

static int name_cell(const struct sweep *w, size_t cell, struct settings *s,
                     struct err *e)
{
    struct named_cell c = { w, cell, &s->conf };
    AUTO(buf_clear) struct buf name = BUF_INIT;
    int ret = sweep_fill(&name, s->run.name, find_value, &c, e);

    if (ret == 0 && strcmp(name.s, s->run.name) == 0) {
        AUTO_FREE char *own =
            sweep_cell_name(w, cell, *name.s ? name.s : w->name);

        ret = conf_put(&s->conf, "run.name", own, "the sweep", e);
    } else if (ret == 0) {
        ret = conf_put(&s->conf, "run.name", name.s, "the sweep", e);
    } else {
        err_wrap(e, "run.name");
    }
    return ret;
}

int sweep_cells_load(const struct sweep *w, size_t cell, struct settings *out,
                     struct err *e)
{
    if (settings_begin(out, NULL, e) < 0 ||
        (w->base[0] && settings_read(out, w->base, e) < 0))
        return -1;
    for (size_t i = 0; i < w->n_sets; i++)
        if (conf_put(&out->conf, w->set[i].key, w->set[i].value,
                     w->set[i].where, e) < 0)
            return -1;
    for (size_t i = 0; i < w->n_axes; i++)
        if (*w->cell[cell].value[i] &&
            conf_put(&out->conf, w->axis[i].key, w->cell[cell].value[i],
                     w->axis[i].where, e) < 0)
            return -1;
    settings_finish(out);
    return name_cell(w, cell, out, e);
}
