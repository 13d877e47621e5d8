#include "config.h"
#include "track/import/import.h"

#include <math.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/format/secret.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/output/emit.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/key.h"
#include "store/format/store.h"
#include "track/runs/file_tree.h"

void import_json_each(const char *prefix, json_t *object, char separator,
                      import_json_fn *fn, void *arg)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        AUTO_FREE char *key = *prefix
                                  ? xasprintf("%s%c%s", prefix, separator, name)
                                  : xstrdup(name);

        if (json_object_size(value) && !json_object_get(value, "_type"))
            import_json_each(key, value, separator, fn, arg);
        else
            fn(arg, key, value);
    }
}

bool import_json_number(struct import_run *in, json_t *value, double *x)
{
    const char *type = json_string_value(json_object_get(value, "_type"));

    if (json_is_number(value)) {
        *x = json_number_value(value);
    } else if (json_is_boolean(value)) {
        *x = json_is_true(value);
    } else if (!json_is_string(value) ||
               !num_real(json_string_value(value), x) || isfinite(*x)) {
        if (!json_is_null(value))
            import_run_leave(in, type                    ? type
                                 : json_is_string(value) ? "text"
                                                         : "list");
        return false;
    }
    return true;
}

void import_json_point(void *arg, const char *key, json_t *value)
{
    const struct import_json_row *row = arg;
    double x;
    AUTO_FREE char *name = NULL;

    if (!import_json_number(row->in, value, &x))
        return;
    name = xasprintf("%s%s", row->prefix, key);
    import_run_point(row->in, name, row->step, row->ms, x);
}

void import_json_param(void *arg, const char *key, json_t *value)
{
    AUTO_FREE char *text = NULL;

    if (json_is_string(value)) {
        import_run_param(arg, key, json_string_value(value));
        return;
    }
    if (json_is_boolean(value) || json_is_null(value)) {
        import_run_param(arg, key,
                         json_is_true(value)    ? "True"
                         : json_is_false(value) ? "False"
                                                : "None");
        return;
    }
    if (json_is_real(value)) {
        char number[NUM_TEXT];

        num_shortest(number, json_real_value(value));
        import_run_param(arg, key, number);
        return;
    }
    text = json_dumps(value,
                      JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text)
        import_run_param(arg, key, text);
}

/* ---- histograms, pictures, sound and tables ------------------------------ */

/* Files become artifacts in the places where the Python package keeps its own,
 * which for images and tables are MLflow's. */

/* The artifact of this name; NULL if there is none. */
static struct import_file *find_file(const struct import_run *in,
                                     const char *name)
{
    for (size_t i = 0; i < in->n_artifacts; i++)
        if (strcmp(in->artifact[i].name, name) == 0)
            return &in->artifact[i];
    return NULL;
}

/* A new one, to which the name belongs. */
static struct import_file *add_file(struct import_run *in, char *name)
{
    GROW(in->artifact, in->n_artifacts, in->room_artifacts);
    in->artifact[in->n_artifacts] =
        (struct import_file){ .name = name, .data = BUF_INIT };
    return &in->artifact[in->n_artifacts++];
}

bool import_run_histogram(struct import_run *in, const char *key, int64_t step,
                          int64_t ms, const json_t *counts, const json_t *edges)
{
    const size_t n = json_array_size(counts);
    json_auto_t *line = NULL;
    AUTO_FREE char *text = NULL;

    if (n == 0 || json_array_size(edges) != n + 1)
        return false;
    line = json_pack("{s:I, s:I, s:O, s:O}", "step", (json_int_t)step, "time",
                     (json_int_t)ms, "values", counts, "bins", edges);
    text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text) {
        AUTO_FREE char *clean = key_clean(key);
        AUTO_FREE char *name = xasprintf("histograms/%s.jsonl", clean);
        struct import_file *f = find_file(in, name);

        if (!f)
            f = add_file(in, xstrdup(name));
        buf_printf(&f->data, "%s\n", text);
    }
    return text;
}

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
    AUTO_FREE char *clean = key_clean(key), *place = NULL;
    char h[33];

    place = xasprintf("%s %s %lld %zu", in->source, key, (long long)m->step,
                      in->n_artifacts);
    md5_hex(place, strlen(place), h);
    for (char *c = clean; *c; c++)
        *c = *c == '/' ? '~' : *c;
    return xasprintf("images/%s+step+%lld+timestamp+%lld+"
                     "%.8s-%.4s-4%.3s-a%.3s-%.12s%s",
                     clean, (long long)m->step, (long long)m->ms, h, h + 8,
                     h + 13, h + 17, h + 20, check_ending(m->ending));
}

/* That of anything else: "audio/KEY/3.wav", and "audio/KEY/3-1.wav" for the
 * second one of a step. */
static char *other_name(const struct import_run *in, const char *key,
                        const struct import_media *m)
{
    const char *ending = check_ending(m->ending);
    AUTO_FREE char *clean = key_clean(key);
    char *name =
        xasprintf("%s/%s/%lld%s", m->kind, clean, (long long)m->step, ending);

    for (int n = 1; find_file(in, name); n++) {
        free(name);
        name = xasprintf("%s/%s/%lld-%d%s", m->kind, clean, (long long)m->step,
                         n, ending);
    }
    return name;
}

static struct import_file *new_file(struct import_run *in, const char *key,
                                    const struct import_media *m)
{
    const bool image = strcmp(m->kind, "images") == 0;
    char *name = image ? image_name(in, key, m) : other_name(in, key, m);

    if (image)
        import_run_tag(in, "mlflow.loggedImages", "True");
    return add_file(in, name);
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

    buf_str(&add_file(in, xasprintf("%.*s.txt", (int)n, name))->data,
            m->caption);
}

bool import_run_media_file(struct import_run *in, const char *key,
                           const struct import_media *m)
{
    struct stat st;
    AUTO_FREE char *path = NULL;
    bool good;

    if (!in->files || !path_stays_below(m->from))
        return false;
    path = path_join(in->files, m->from);
    good = stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           !path_leaves(path, in->inside);
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
    AUTO(buf_clear) struct buf text = BUF_INIT;
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
    return ret;
}

static int write_media(const struct import_run *in, struct stored_run *b,
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

static void clear_media(struct import_run *in)
{
    for (size_t i = 0; i < in->n_artifacts; i++) {
        FREE(in->artifact[i].name, in->artifact[i].from);
        buf_clear(&in->artifact[i].data);
    }
    free(in->artifact);
}

#define SOURCE_TAG "gtrack.imported_from"

/* ---- the run ------------------------------------------------------------- */

void import_run_init(struct import_run *in, char *source)
{
    *in = (struct import_run){ .source = source, .status = RUN_FINISHED };
}

void import_run_clear(struct import_run *in)
{
    for (size_t i = 0; i < in->n_metrics; i++)
        FREE(in->metric[i].key, in->metric[i].point);
    for (size_t i = 0; i < in->n_pairs; i++)
        FREE(in->pair[i].key, in->pair[i].value);
    for (size_t i = 0; i < in->n_left; i++)
        free(in->left[i].what);
    clear_media(in);
    FREE(in->metric, in->pair, in->left, in->files, in->output, in->source,
         in->id, in->name, in->experiment, in->user);
    *in = (struct import_run){ .status = RUN_FINISHED };
}

void import_run_name(struct import_run *in, const char *name)
{
    xreplace(&in->name, name && *name ? name : NULL);
}

void import_run_experiment(struct import_run *in, const char *name)
{
    xreplace(&in->experiment, name && *name ? name : NULL);
}

static struct import_metric *find_metric(struct import_run *in, const char *key)
{
    struct import_metric *m;

    for (size_t i = in->n_metrics; i-- > 0;) /* mostly the last one */
        if (strcmp(in->metric[i].key, key) == 0)
            return &in->metric[i];
    m = &APPEND(in->metric, in->n_metrics, in->room_metrics);
    *m = (struct import_metric){ .key = xstrdup(key) };
    return m;
}

void import_run_point(struct import_run *in, const char *key, int64_t step,
                      int64_t ms, double value)
{
    struct import_metric *m = find_metric(in, key);

    GROW(m->point, m->n, m->room);
    /* in a log without times, make two points of a step differ */
    if (m->n == 0 || ms > m->ms)
        m->shift = 0;
    else if (step <= m->point[m->n - 1].step)
        m->shift++;
    m->ms = ms;
    ms += m->shift;
    m->point[m->n++] = (struct metric_point){ ms, step, value };
    if (ms > 0 && (!in->start_ms || ms < in->start_ms))
        in->start_ms = ms;
    if (ms > in->end_ms)
        in->end_ms = ms;
}

void import_run_rewind(struct import_run *in, int64_t step)
{
    for (size_t i = 0; i < in->n_metrics; i++) {
        struct import_metric *m = &in->metric[i];

        while (m->n && m->point[m->n - 1].step >= step)
            m->n--;
    }
}

static void set_pair(struct import_run *in, const char *key, const char *value,
                     bool is_tag)
{
    struct import_pair *p = NULL;

    for (size_t i = 0; i < in->n_pairs && !p; i++)
        if (in->pair[i].is_tag == is_tag && strcmp(in->pair[i].key, key) == 0)
            p = &in->pair[i];
    if (!p) {
        p = &APPEND(in->pair, in->n_pairs, in->room_pairs);
        *p = (struct import_pair){ .key = xstrdup(key), .is_tag = is_tag };
    }
    xreplace(&p->value, value);
}

void import_run_param(struct import_run *in, const char *key, const char *value)
{
    set_pair(in, key, value, false);
}

void import_run_tag(struct import_run *in, const char *key, const char *value)
{
    set_pair(in, key, value, true);
}

void import_run_leave(struct import_run *in, const char *what)
{
    size_t i = 0;

    while (i < in->n_left && strcmp(in->left[i].what, what) != 0)
        i++;
    if (i == in->n_left) {
        APPEND(in->left, in->n_left, in->room_left) =
            (struct import_left){ xstrdup(what), 0 };
    }
    in->left[i].n++;
}

static void report_left(const struct import_run *in)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    for (size_t i = 0; i < in->n_left; i++)
        buf_printf(&b, "%s%s (%zu)", i ? ", " : "", in->left[i].what,
                   in->left[i].n);
    if (in->n_left)
        log_warn("%s: left out: %s", in->name ? in->name : in->source, b.s);
}

size_t import_run_count_points(const struct import_run *in)
{
    size_t n = 0;

    for (size_t i = 0; i < in->n_metrics; i++)
        n += in->metric[i].n;
    return n;
}

/* What is in the store: an id or a source, and the run, NULL if it is new. */
struct known {
    const char *key;
    const struct run_info *run;
};

static int add_known(struct import *import, const char *key,
                     const struct run_info *run, struct err *e)
{
    struct known *k = arena_alloc(&import->store.mem, sizeof *k);

    *k = (struct known){ arena_strdup(&import->store.mem, key), run };
    return tsearch(k, &import->known, str_compare)
               ? 0
               : err_set(e, ERR_SYSTEM, "out of memory for the runs of %s",
                         import->root);
}

static int load_known(struct import *import, struct err *e)
{
    const int flags = LOAD_NO_METRICS | LOAD_DELETED;

    if (err_allow(runs_load(&import->store, import->root, flags, e),
                  ERR_MISSING, e) < 0)
        return -1;
    for (size_t i = 0; i < import->store.n; i++) {
        const struct run_info *run = &import->store.run[i];
        const char *source = run_info_tag(run, SOURCE_TAG);

        if (add_known(import, run->id, run, e) < 0 ||
            (source && !run->deleted && add_known(import, source, run, e) < 0))
            return -1;
    }
    return 0;
}

/* Is there a run with the same id, or from the same source?  Say so if it is
 * not all of this one: the file has grown since, or is a later piece of the
 * same run. */
static int find_known(struct import *import, const struct import_run *in,
                      bool *found, struct err *e)
{
    const struct known key = { in->id ? in->id : in->source, NULL };
    const struct known *const *k;

    if (!import->known && load_known(import, e) < 0)
        return -1;
    k = tfind(&key, &import->known, str_compare);
    *found = k != NULL;
    if (k && !in->id && (*k)->run && in->end_ms > (*k)->run->end_ms)
        log_warn("%s is not imported: run %s is of the same source, but "
                 "ends earlier",
                 in->source, (*k)->run->name);
    return k ? 0 : add_known(import, key.key, NULL, e);
}

static void keep_node(void *node UNUSED)
{
    /* the arena frees it */
}

int import_close(struct import *import, struct err *e)
{
    const int ret = staging_flush(&import->batch, e);

    tdestroy(import->known, keep_node);
    runs_free(&import->store);
    return ret < 0 || import->runs == 0 ? ret : save_sync_all(import->root, e);
}

/* What W&B's client writes of the configuration and the command. */
static int mask_files(struct stored_run *b, const char *artifacts,
                      struct err *e)
{
    enum { MOST = 16 << 20 };
    static const char *const names[] = { "config.yaml", "wandb-metadata.json" };
    int ret = 0;

    for (size_t i = 0; i < 2 && ret == 0; i++) {
        AUTO_FREE char *path = path_join(artifacts, names[i]);
        AUTO(buf_clear) struct buf was = BUF_INIT, masked = BUF_INIT;

        if (path_exists(path))
            ret = buf_read_unlinked(&was, path, MOST, e);
        secret_mask(&masked, was.s);
        if (ret == 0 && strlen(was.s) == was.len &&
            strcmp(masked.s, was.s) != 0)
            ret = stored_run_artifact(b, names[i], masked.s, masked.len, e);
    }
    return ret;
}

static int write_files(const struct import_run *in, struct stored_run *b,
                       struct err *e)
{
    AUTO_FREE char *artifacts = path_join(b->folder, "artifacts");
    AUTO_FREE char *output = path_join(artifacts, "output.log");

    if (in->files &&
        (copy_tree(in->files, artifacts, b->folder, NULL, in->inside, e) < 0 ||
         mask_files(b, artifacts, e) < 0))
        return -1;
    if (!in->output || path_exists(output))
        return 0;
    return stored_run_artifact(b, "output.log", in->output, strlen(in->output),
                               e);
}

static int write_content(const struct import_run *in, struct stored_run *b,
                         struct err *e)
{
    for (size_t i = 0; i < in->n_pairs; i++) {
        const struct import_pair *x = &in->pair[i];

        if ((x->is_tag ? stored_run_tag(b, x->key, x->value, e)
                       : stored_run_param(b, x->key, x->value, e)) < 0)
            return -1;
    }
    if (write_files(in, b, e) < 0 || write_media(in, b, e) < 0)
        return -1;
    for (size_t i = 0; i < in->n_metrics; i++)
        if (stored_run_points(b, in->metric[i].key, in->metric[i].point,
                              in->metric[i].n, e) < 0)
            return -1;
    return stored_run_tag(b, SOURCE_TAG, in->source, e);
}

static int write_run(const struct import_run *in, struct import *import,
                     struct err *e)
{
    const struct run_conf c = {
        .root = import->root,
        .experiment = import->experiment ? import->experiment : in->experiment,
        .name = import->name ? import->name : in->name,
        .id = in->id,
        .user = in->user,
        .source = "gtrack import",
        .start_ms = in->start_ms,
    };
    struct stored_run b;

    if (stored_run_create(&b, &c, e) < 0)
        return -1;
    b.batch = &import->batch;
    b.meta.deleted = in->deleted_ms != 0;
    b.meta.deleted_ms = in->deleted_ms;
    return stored_run_end(&b, in->status, in->end_ms, write_content(in, &b, e),
                          e);
}

static int write_new(struct import_run *in, struct import *import,
                     struct err *e)
{
    bool exists = false;

    if (import_run_count_points(in) == 0 && in->n_pairs == 0)
        return err_input(e, "%s has no points of metrics", import->path);
    if (import->root && find_known(import, in, &exists, e) < 0)
        return -1;
    if (exists) {
        import->existing++;
        return 0;
    }
    if (import->root && write_run(in, import, e) < 0)
        return -1;
    report_left(in);
    import->runs++;
    import->points += import_run_count_points(in);
    return 0;
}

int import_run_end(struct import_run *in, struct import *import, int ret,
                   struct err *e)
{
    if (ret == 0)
        ret = write_new(in, import, e);
    import_run_clear(in);
    return ret;
}

int64_t import_mtime(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (int64_t)st.st_mtime * 1000 : clock_wall_ms();
}
