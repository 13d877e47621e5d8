/*
 * import_media - histograms, pictures, sound and tables of an imported run
 *
 * Files become artifacts in the places where the Python package keeps its own,
 * which for images and tables are MLflow's.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "common/output/emit.h"
#include "common/path.h"
#include "store/format/key.h"
#include "store/format/md5.h"
#include "track/import/import.h"

/* ---- histograms -------------------------------------------------------- */

static struct import_histograms *find_name(struct import_run *in,
                                           const char *name)
{
    for (size_t i = 0; i < in->n_histograms; i++)
        if (strcmp(in->histograms[i].name, name) == 0)
            return &in->histograms[i];
    GROW(in->histograms, in->n_histograms, in->room_histograms);
    in->histograms[in->n_histograms] =
        (struct import_histograms){ xstrdup(name), BUF_INIT };
    return &in->histograms[in->n_histograms++];
}

bool import_run_histogram(struct import_run *in, const char *key, int64_t step,
                          int64_t ms, const json_t *counts, const json_t *edges)
{
    const size_t n = json_array_size(counts);
    json_t *line;
    char *text, *name;
    bool good;

    if (n == 0 || json_array_size(edges) != n + 1)
        return false;
    line = json_pack("{s:I, s:I, s:O, s:O}", "step", (json_int_t)step, "time",
                     (json_int_t)ms, "values", counts, "bins", edges);
    text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text) {
        name = key_clean(key);
        buf_printf(&find_name(in, name)->lines, "%s\n", text);
        free(name);
    }
    good = text;
    free(text);
    json_decref(line);
    return good;
}

int import_histograms_write(const struct import_run *in, struct stored_run *b,
                            struct err *e)
{
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < in->n_histograms; i++) {
        const struct import_histograms *h = &in->histograms[i];
        char *name = xasprintf("histograms/%s.jsonl", h->name);

        ret = stored_run_artifact(b, name, h->lines.s, h->lines.len, e);
        free(name);
    }
    return ret;
}

void import_histograms_clear(struct import_run *in)
{
    for (size_t i = 0; i < in->n_histograms; i++) {
        free(in->histograms[i].name);
        buf_clear(&in->histograms[i].lines);
    }
    free(in->histograms);
}

/* ---- files ------------------------------------------------------------- */

/* ".png"; nothing if it is not the end of a name. */
static const char *check_ending(const char *ending)
{
    const size_t n = strlen(ending);

    return n < 2 || n > 8 || *ending != '.' ||
                   ending[1 + strspn(ending + 1, "abcdefghijklmnopqrstuvwxyz"
                                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                 "0123456789")]
               ? ""
               : ending;
}

/* The artifact of an image: "images/KEY+step+3+timestamp+MS+UUID". */
static char *image_name(const struct import_run *in, const char *key,
                        const struct import_media *m)
{
    char *clean = key_clean(key), *place, *name;
    char h[33];

    place = xasprintf("%s %s %lld %zu", in->source, key, (long long)m->step,
                      in->n_artifacts);
    md5_hex(place, strlen(place), h);
    for (char *c = clean; *c; c++)
        *c = *c == '/' ? '~' : *c;
    name = xasprintf("images/%s+step+%lld+timestamp+%lld+"
                     "%.8s-%.4s-4%.3s-a%.3s-%.12s%s",
                     clean, (long long)m->step, (long long)m->ms, h, h + 8,
                     h + 13, h + 17, h + 20, check_ending(m->ending));
    free(place);
    free(clean);
    return name;
}

/* That of anything else: "audio/KEY/3.wav", and "audio/KEY/3-1.wav" for the
 * second one of a step. */
static char *other_name(const struct import_run *in, const char *key,
                        const struct import_media *m)
{
    char *clean = key_clean(key), *name = NULL;
    bool taken = true;

    for (int n = 0; taken; n++) {
        char number[16] = "";

        if (n)
            snprintf(number, sizeof number, "-%d", n);
        free(name);
        name = xasprintf("%s/%s/%lld%s%s", m->kind, clean, (long long)m->step,
                         number, check_ending(m->ending));
        taken = false;
        for (size_t i = 0; i < in->n_artifacts && !taken; i++)
            taken = strcmp(in->artifact[i].name, name) == 0;
    }
    free(clean);
    return name;
}

static struct import_file *new_file(struct import_run *in, const char *key,
                                    const struct import_media *m)
{
    const bool image = strcmp(m->kind, "images") == 0;
    char *name = image ? image_name(in, key, m) : other_name(in, key, m);

    if (image)
        import_run_tag(in, "mlflow.loggedImages", "True");
    GROW(in->artifact, in->n_artifacts, in->room_artifacts);
    in->artifact[in->n_artifacts] = (struct import_file){ .name = name };
    return &in->artifact[in->n_artifacts++];
}

void import_run_media(struct import_run *in, const char *key,
                      const struct import_media *m, const void *data, size_t n)
{
    buf_add(&new_file(in, key, m)->data, data, n);
}

/* The caption of the last file, which is in a file beside it. */
static void add_caption(struct import_run *in, const struct import_media *m)
{
    const char *name = in->artifact[in->n_artifacts - 1].name;
    const size_t n = strlen(name) - strlen(check_ending(m->ending));
    struct import_file f = { .name = xasprintf("%.*s.txt", (int)n, name) };

    buf_str(&f.data, m->caption);
    GROW(in->artifact, in->n_artifacts, in->room_artifacts);
    in->artifact[in->n_artifacts++] = f;
}

bool import_run_media_file(struct import_run *in, const char *key,
                           const struct import_media *m)
{
    struct stat st;
    char *path;
    bool good;

    if (!in->files || !path_stays_below(m->from))
        return false;
    path = path_join(in->files, m->from);
    good = stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           !path_leaves(path, in->inside);
    free(path);
    for (size_t i = 0; good && i < in->n_artifacts; i++)
        good =
            !in->artifact[i].from || strcmp(in->artifact[i].from, m->from) != 0;
    if (good)
        new_file(in, key, m)->from = xstrdup(m->from);
    if (good && m->caption)
        add_caption(in, m);
    return good;
}

/* List the tables where MLflow looks for them. */
static int list_tables(const struct import_run *in, struct stored_run *b,
                       struct err *e)
{
    struct buf text = BUF_INIT;
    struct emit o = { .b = &text };
    bool any = false;
    int ret = 0;

    emit_array(&o, NULL);
    for (size_t i = 0; i < in->n_artifacts; i++) {
        if (strncmp(in->artifact[i].name, "tables/", 7) != 0)
            continue;
        emit_object(&o, NULL);
        emit_text(&o, "path", in->artifact[i].name);
        emit_text(&o, "type", "table");
        emit_object_end(&o);
        any = true;
    }
    emit_array_end(&o);
    if (any)
        ret = stored_run_tag(b, "mlflow.loggedArtifacts", text.s, e);
    buf_clear(&text);
    return ret;
}

int import_media_write(const struct import_run *in, struct stored_run *b,
                       struct err *e)
{
    int ret = list_tables(in, b, e);

    for (size_t i = 0; ret == 0 && i < in->n_artifacts; i++) {
        const struct import_file *f = &in->artifact[i];

        ret = f->from
                  ? stored_run_move_artifact(b, f->from, f->name, e)
                  : stored_run_artifact(b, f->name, f->data.s, f->data.len, e);
    }
    return ret;
}

void import_media_clear(struct import_run *in)
{
    for (size_t i = 0; i < in->n_artifacts; i++) {
        free(in->artifact[i].name);
        free(in->artifact[i].from);
        buf_clear(&in->artifact[i].data);
    }
    free(in->artifact);
}
