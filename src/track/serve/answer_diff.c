/*
 * answer_diff - what differs between two runs: configuration, code and data
 */
#include "config.h"
#include "common/buf.h"
#include "track/serve/site.h"

#include <stdlib.h>
#include <string.h>

#include "common/output/emit.h"
#include "store/format/attempt.h"
#include "store/write/run.h"

static void write_line(struct emit *o, const char *mark, const char *between,
                       const char *key, const char *value)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s%s%s", key, between, value);
    emit_object(o, NULL);
    emit_text(o, "mark", mark);
    emit_text(o, "text", b.s);
    emit_object_end(o);
    buf_clear(&b);
}

static void write_change(struct emit *o, const char *key, const char *a,
                         const char *b)
{
    if (a && b && strcmp(a, b) == 0)
        return;
    if (a)
        write_line(o, "-", " = ", key, a);
    if (b)
        write_line(o, "+", " = ", key, b);
}

/* -- parameters ------------------------------------------------------------ */

/* Is it about what was read? */
static bool is_data(const char *key)
{
    return strncmp(key, "data.", 5) == 0 ||
           strncmp(key, "derived.data.", 13) == 0 ||
           strcmp(key, "derived.tokenizer") == 0;
}

/* Merge the parameters of both, which are sorted by key. */
static void write_params(struct emit *o, const struct run_info *a,
                         const struct run_info *b, bool data)
{
    size_t i = 0, j = 0;

    while (i < a->n_params || j < b->n_params) {
        const int cmp = i == a->n_params ? 1
                        : j == b->n_params
                            ? -1
                            : strcmp(a->params[i].key, b->params[j].key);
        const char *key = cmp <= 0 ? a->params[i].key : b->params[j].key;

        if (is_data(key) == data)
            write_change(o, key, cmp <= 0 ? a->params[i].value : NULL,
                         cmp >= 0 ? b->params[j].value : NULL);
        i += cmp <= 0;
        j += cmp >= 0;
    }
}

/* -- code ------------------------------------------------------------------ */

static bool has_line(const char *text, const char *line, size_t n)
{
    while (text && *text) {
        const size_t len = strcspn(text, "\n");

        if (len == n && memcmp(text, line, n) == 0)
            return true;
        text += len + (text[len] == '\n');
    }
    return false;
}

static void write_other_lines(struct emit *o, const char *mark,
                              const char *text, const char *other)
{
    while (text && *text) {
        const size_t n = strcspn(text, "\n");
        char *line = xstrndup(text, n);

        if (n && !has_line(other, text, n))
            write_line(o, mark, "", "", line);
        free(line);
        text += n + (text[n] == '\n');
    }
}

/* Comparing each line with each takes too long for more than this. */
static bool is_long(const char *text)
{
    enum { MOST = 64 << 10 };

    return text && strlen(text) > MOST;
}

static void write_code(struct emit *o, const struct run_info *a,
                       const struct run_info *b)
{
    static const char *const tags[] = {
        "mlflow.source.git.commit",  "mlflow.source.git.branch",
        "mlflow.source.git.repoURL", "mlflow.source.git.dirty",
        "mlflow.source.name",
    };
    static const char patch[] = "mlflow.source.git.diff";
    const char *pa = run_info_tag(a, patch), *pb = run_info_tag(b, patch);

    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        write_change(o, tags[i], run_info_tag(a, tags[i]),
                     run_info_tag(b, tags[i]));
    write_change(o, "command", a->attempt ? a->attempt->command : NULL,
                 b->attempt ? b->attempt->command : NULL);
    if (is_long(pa) || is_long(pb)) {
        write_change(o, patch,
                     pa ? "uncommitted changes, which are long" : NULL,
                     pb ? "other changes" : NULL);
        return;
    }
    write_other_lines(o, "-", pa, pb);
    write_other_lines(o, "+", pb, pa);
}

/* -- data ------------------------------------------------------------------ */

static bool has_input(const struct run_info *r, const struct run_dataset *d)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        if (str_same(r->inputs[i].name, d->name) &&
            str_same(r->inputs[i].digest, d->digest))
            return true;
    return false;
}

static void write_other_inputs(struct emit *o, const char *mark,
                               const struct run_info *r,
                               const struct run_info *other)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        if (!has_input(other, &r->inputs[i]))
            write_line(o, mark, ", ", str_or_empty(r->inputs[i].name),
                       str_or_empty(r->inputs[i].digest));
}

static void write_data(struct emit *o, const struct run_info *a,
                       const struct run_info *b)
{
    write_params(o, a, b, true);
    write_other_inputs(o, "-", a, b);
    write_other_inputs(o, "+", b, a);
}

static void begin_section(struct emit *o, const char *title)
{
    emit_object(o, NULL);
    emit_text(o, "title", title);
    emit_array(o, "lines");
}

static void end_section(struct emit *o)
{
    emit_array_end(o);
    emit_object_end(o);
}

int answer_diff(struct site *s, struct query *q, struct answer *ans,
                struct err *e)
{
    const struct live *l = site_store(s, q, e);
    const struct run_info *a = l ? site_run(s, q, "a", e) : NULL;
    const struct run_info *b = a ? site_run(s, q, "b", e) : NULL;
    struct emit o = { .b = &ans->body };
    struct buf command = BUF_INIT;

    if (!b)
        return -1;
    buf_str(&command, "gtrack diff");
    site_run_word(&command, l, a);
    site_run_word(&command, l, b);
    site_root_option(&command, l);
    emit_object(&o, NULL);
    emit_text(&o, "command", command.s);
    emit_array(&o, "sections");
    begin_section(&o, "configuration");
    write_params(&o, a, b, false);
    end_section(&o);
    begin_section(&o, "code");
    write_code(&o, a, b);
    end_section(&o);
    begin_section(&o, "data");
    write_data(&o, a, b);
    end_section(&o);
    emit_array_end(&o);
    emit_object_end(&o);
    buf_clear(&command);
    return 0;
}
