#include "config.h"
#include "trainer/training/checkpoint_files.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sha256.h"
#include "trainer/model/tensors.h"
#include "trainer/training/checkpoint.h"

static const char *const parts[] = { "model.safetensors", "optim.safetensors",
                                     "config.ini" };

enum { STATE_MAX = 1 << 20 };

/* ---- the snapshot ----------------------------------------------------- */

/* A whole block; all ranks call it, rank 0 has it. */
static float *copy_of(struct job *j, enum parallel_state what, int64_t count,
                      struct err *e)
{
    float *host;

    if (count == 0 || e->kind != ERR_NONE)
        return NULL;
    host = mem_alloc((size_t)count, sizeof *host, "copy of the state", e);
    if (host && parallel_collect(&j->parallel, what, host, e) < 0) {
        free(host);
        host = NULL;
    }
    return host;
}

static void list_places(struct snapshot *s, struct job *j)
{
    const struct graph *g = &j->gpt.graph;

    s->n = g->n_params;
    s->place = xcalloc((size_t)s->n + 1, sizeof *s->place);
    for (int i = 0; i < s->n; i++) {
        const struct graph_param *p = &g->param[i];
        const struct tensor *t = &g->node[p->node].val;
        struct tensor_place *to = &s->place[i];

        memcpy(to->name, p->name, sizeof to->name);
        to->rank = t->rank;
        to->dim[0] = t->dim[0];
        to->dim[1] = t->dim[1];
        to->at = p->at;
        to->second = j->optim.seconds && optim_has_second(&j->optim, p);
    }
}

static char *state_text(const struct job *j, const char *run_id)
{
    const struct reached *at = &j->at;
    json_t *o = json_pack(
        "{s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:s}",
        "format", 1, "step", (json_int_t)at->step, "tokens",
        (json_int_t)at->tokens, "updates", (json_int_t)at->updates,
        "optimizer_steps", (json_int_t)j->optim.steps, "skipped",
        (json_int_t)at->skipped, "seconds", job_seconds(j), "loss_scale",
        at->loss_scale, "good_steps", (json_int_t)at->good_steps, "best_step",
        (json_int_t)at->best_step, "bad_evals", (json_int_t)at->bad_evals,
        "run_id", run_id);
    char *text;

    if (isfinite(at->best_loss))
        json_object_set_new(o, "best_loss", json_real(at->best_loss));
    if (at->val_due)
        json_object_set_new(o, "val_due", json_true());
    if (j->train)
        json_object_set_new(o, "data", json_string(loader_hash(j->train)));
    if (j->tokenizer)
        json_object_set_new(o, "tokenizer",
                            json_string(tokenizer_hash(j->tokenizer)));
    text = json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(o);
    return text;
}

int snapshot_take(struct snapshot *s, struct job *j, const char *run_id,
                  struct err *e)
{
    struct buf config = BUF_INIT;

    *s = (struct snapshot){ 0 };
    list_places(s, j);
    conf_dump(&j->set->conf, &config);
    s->config = buf_detach(&config);
    s->state = state_text(j, run_id);
    s->weights = copy_of(j, PARALLEL_WEIGHTS, j->gpt.graph.count, e);
    s->m = copy_of(j, PARALLEL_M,
                   j->gpt.graph.training ? j->gpt.graph.count : 0, e);
    s->v = copy_of(j, PARALLEL_V, j->optim.seconds ? j->gpt.graph.count : 0, e);
    if (e->kind != ERR_NONE)
        return -1;
    return dev_sync(&j->dev, e);
}

int snapshot_join(struct job *j, struct err *e)
{
    if (parallel_collect(&j->parallel, PARALLEL_WEIGHTS, NULL, e) < 0 ||
        parallel_collect(&j->parallel, PARALLEL_M, NULL, e) < 0)
        return -1;
    return j->optim.seconds
               ? parallel_collect(&j->parallel, PARALLEL_V, NULL, e)
               : 0;
}

void snapshot_clear(struct snapshot *s)
{
    free(s->weights);
    free(s->m);
    free(s->v);
    free(s->place);
    free(s->config);
    free(s->state);
    *s = (struct snapshot){ 0 };
}

/* ---- writing ---------------------------------------------------------- */

static struct tensors_array array_of(const struct tensor_place *p,
                                     const char *name, const float *data)
{
    struct tensors_array a = {
        .name = name, .type = "F32", .rank = p->rank, .data = data
    };

    a.dim[0] = p->dim[0];
    a.dim[1] = p->dim[1];
    a.bytes = (size_t)tensors_array_count(&a) * sizeof *data;
    return a;
}

static int write_arrays(const struct snapshot *s, const char *path,
                        bool moments, struct err *e)
{
    struct tensors_array *a = xcalloc(2 * (size_t)s->n + 1, sizeof *a);
    struct arena names = ARENA_INIT;
    int n = 0, ret;

    for (int i = 0; i < s->n; i++) {
        const struct tensor_place *p = &s->place[i];

        if (!moments)
            a[n++] = array_of(p, p->name, s->weights + p->at);
        if (moments && s->m)
            a[n++] = array_of(p, arena_printf(&names, "m.%s", p->name),
                              s->m + p->at);
        if (moments && s->v && p->second)
            a[n++] = array_of(p, arena_printf(&names, "v.%s", p->name),
                              s->v + p->at);
    }
    ret = tensors_write(path, a, n, e);
    free(a);
    arena_clear(&names);
    return ret;
}

static int write_text(const char *path, const char *text, struct err *e)
{
    struct save s = SAVE_INIT;
    int ret = save_open(&s, path, e);

    if (ret == 0) {
        fputs(text, s.fp);
        ret = save_commit(&s, e);
    }
    save_abandon(&s);
    return ret;
}

/* Size and SHA-256 of a file, as state.json has them. */
static json_t *sum_of(const char *path, struct err *e)
{
    FILE *fp = fopen(path, "re");
    char *block = xmalloc(1 << 20), text[SHA256_TEXT];
    struct sha256 h;
    json_int_t bytes = 0;
    size_t n;

    sha256_init(&h);
    while (fp && (n = fread(block, 1, 1 << 20, fp)) > 0) {
        sha256_add(&h, block, n);
        bytes += (json_int_t)n;
    }
    free(block);
    if (!fp || ferror(fp)) {
        err_sys(e, "cannot read %s", path);
        if (fp)
            fclose(fp);
        return NULL;
    }
    fclose(fp);
    sha256_text(&h, text);
    return json_pack("{s:I, s:s}", "bytes", bytes, "sha256", text);
}

/* The SHA-256 of what stands in a state besides it. */
static void state_sum(const json_t *state, char out[SHA256_TEXT])
{
    json_t *rest = json_copy((json_t *)(uintptr_t)state);
    struct sha256 h;
    char *text;

    json_object_del(rest, "sha256");
    text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    sha256_init(&h);
    sha256_add(&h, text, strlen(text));
    sha256_text(&h, out);
    free(text);
    json_decref(rest);
}

static int write_state(const struct snapshot *s, const char *folder,
                       struct err *e)
{
    json_t *state = json_loads(s->state, 0, NULL);
    json_t *files = json_object();
    char *path = path_join(folder, "state.json"), *text, sum[SHA256_TEXT];
    int ret = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && ret == 0; i++) {
        char *part = path_join(folder, parts[i]);
        json_t *of = sum_of(part, e);

        ret = of ? json_object_set_new(files, parts[i], of) : -1;
        free(part);
    }
    json_object_set_new(state, "files", files);
    state_sum(state, sum);
    json_object_set_new(state, "sha256", json_string(sum));
    text = json_dumps(state, JSON_INDENT(1) | JSON_SORT_KEYS);
    if (ret == 0)
        ret = write_text(path, text, e);
    free(text);
    free(path);
    json_decref(state);
    return ret;
}

int snapshot_write(const struct snapshot *s, const char *folder, struct err *e)
{
    char *model = path_join(folder, parts[0]);
    char *optim = path_join(folder, parts[1]);
    char *config = path_join(folder, parts[2]);
    int ret = path_make(folder, e);

    if (ret == 0)
        ret = write_arrays(s, model, false, e);
    if (ret == 0)
        ret = write_arrays(s, optim, true, e);
    if (ret == 0)
        ret = write_text(config, s->config, e);
    if (ret == 0)
        ret = write_state(s, folder, e);
    if (ret == 0)
        ret = save_sync_folder(folder, e);
    free(model);
    free(optim);
    free(config);
    return ret;
}

/* ---- reading ---------------------------------------------------------- */

/* The first versions wrote no sum. */
static bool state_whole(const json_t *state)
{
    const char *want = json_string_value(json_object_get(state, "sha256"));
    char is[SHA256_TEXT];

    state_sum(state, is);
    return !want || strcmp(want, is) == 0;
}

static json_t *read_state(const char *folder, struct err *e)
{
    char *path = path_join(folder, "state.json");
    struct buf text = BUF_INIT;
    json_error_t why;
    json_t *o = NULL;

    if (buf_read_file(&text, path, STATE_MAX, e) == 0) {
        o = json_loadb(text.s, text.len, 0, &why);
        if (!json_is_object(o) ||
            json_integer_value(json_object_get(o, "format")) != 1) {
            err_set(e, ERR_INPUT, "%s: this is no checkpoint's state", path);
            json_decref(o);
            o = NULL;
        } else if (!state_whole(o)) {
            err_set(e, ERR_INPUT,
                    "%s is damaged: its SHA-256 is not the one recorded", path);
            json_decref(o);
            o = NULL;
        }
    }
    buf_clear(&text);
    free(path);
    return o;
}

static int same_sum(const char *path, const json_t *want, struct err *e)
{
    json_t *is = sum_of(path, e);
    int ret = is ? 0 : -1;

    if (is && !json_equal(is, want))
        ret = err_set(e, ERR_INPUT,
                      "%s is damaged: its SHA-256 is not the "
                      "one recorded",
                      path);
    json_decref(is);
    return ret;
}

int checkpoint_verify(const char *folder, struct err *e)
{
    json_t *state = read_state(folder, e);
    const json_t *files = state ? json_object_get(state, "files") : NULL;
    int ret = state ? 0 : -1;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && ret == 0; i++) {
        char *part = path_join(folder, parts[i]);

        ret = same_sum(part, json_object_get(files, parts[i]), e);
        free(part);
    }
    json_decref(state);
    return ret;
}

char *checkpoint_run_id(const char *folder, struct err *e)
{
    json_t *state = read_state(folder, e);
    const char *id = json_string_value(json_object_get(state, "run_id"));
    char *copy = xstrdup(id ? id : "");

    json_decref(state);
    return copy;
}

/* A parameter's numbers into a block on the host. */
static int read_into(const struct tensors *t, const char *prefix,
                     const struct tensor_place *p, float *out, struct err *e)
{
    char *name = xasprintf("%s%s", prefix, p->name);
    const struct tensors_array *a = tensors_find(t, name);
    int ret;

    if (!a)
        ret = err_set(e, ERR_INPUT, "the checkpoint has no %s", name);
    else if (a->rank != p->rank || a->dim[0] != p->dim[0] ||
             (p->rank > 1 && a->dim[1] != p->dim[1]))
        ret = err_set(e, ERR_INPUT,
                      "%s is %lld x %lld in the checkpoint and "
                      "%lld x %lld by the settings",
                      name, (long long)a->dim[0], (long long)a->dim[1],
                      (long long)p->dim[0], (long long)p->dim[1]);
    else
        ret = tensors_array_floats(a, out, e);
    free(name);
    return ret;
}

/* Every rank reads the file and keeps what is its own.  What was imported from
 * elsewhere has no moments. */
static int load_block(struct job *j, const struct snapshot *s,
                      const struct tensors *t, const char *prefix,
                      enum parallel_state what, struct err *e)
{
    const struct graph *g = &j->gpt.graph;
    float *room;
    int ret = 0;

    if (tensors_count(t) == 0)
        return 0;
    room = mem_alloc((size_t)graph_largest(g), sizeof *room, "a parameter", e);
    if (!room)
        return -1;
    for (int i = 0; i < s->n && ret == 0; i++) {
        if (what == PARALLEL_V && !s->place[i].second)
            continue;
        ret = read_into(t, prefix, &s->place[i], room, e);
        if (ret == 0)
            ret = parallel_load(&j->parallel, what, s->place[i].at, room,
                                g->param[i].count, e);
    }
    free(room);
    return ret;
}

static int load_file(struct job *j, const char *folder, int part, struct err *e)
{
    struct snapshot s = { 0 };
    struct tensors *t = NULL;
    char *path = path_join(folder, parts[part]);
    int ret = tensors_open(&t, path, e);

    list_places(&s, j);
    if (ret == 0 && part == 0)
        ret = load_block(j, &s, t, "", PARALLEL_WEIGHTS, e);
    if (ret == 0 && part == 0)
        ret = parallel_loaded(&j->parallel, e);
    if (ret == 0 && part == 1)
        ret = load_block(j, &s, t, "m.", PARALLEL_M, e);
    if (ret == 0 && part == 1 && j->optim.seconds)
        ret = load_block(j, &s, t, "v.", PARALLEL_V, e);
    tensors_close(t);
    snapshot_clear(&s);
    free(path);
    return ret;
}

int checkpoint_load_weights(const char *folder, struct job *j, struct err *e)
{
    if (load_file(j, folder, 0, e) < 0)
        return err_wrap(e, "%s", folder);
    return 0;
}

static int64_t number(const json_t *o, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(o, key));
}

static int check_same(const json_t *o, const char *key, const char *now,
                      const char *what, struct err *e)
{
    const char *then = json_string_value(json_object_get(o, key));

    if (then && now && strcmp(then, now) != 0)
        return err_set(e, ERR_INPUT,
                       "%s is not what the checkpoint was made "
                       "with (%.12s then, %.12s now)",
                       what, then, now);
    return 0;
}

static int load_state(const char *folder, struct job *j, struct err *e)
{
    json_t *o = read_state(folder, e);
    const json_t *best = json_object_get(o, "best_loss");
    int ret = o ? 0 : -1;

    if (ret == 0 && j->tokenizer)
        ret = check_same(o, "tokenizer", tokenizer_hash(j->tokenizer),
                         "data.tokenizer", e);
    if (ret == 0 && j->train)
        ret = check_same(o, "data", loader_hash(j->train), "data.train", e);
    if (ret == 0) {
        j->at = (struct reached){
            .step = number(o, "step"),
            .tokens = number(o, "tokens"),
            .updates = number(o, "updates"),
            .skipped = number(o, "skipped"),
            .seconds = json_number_value(json_object_get(o, "seconds")),
            .loss_scale = json_number_value(json_object_get(o, "loss_scale")),
            .good_steps = number(o, "good_steps"),
            .best_loss = best ? json_number_value(best) : (double)INFINITY,
            .best_step = number(o, "best_step"),
            .bad_evals = number(o, "bad_evals"),
            .val_due = json_is_true(json_object_get(o, "val_due")),
        };
        j->optim.steps = number(o, "optimizer_steps");
    }
    json_decref(o);
    return ret;
}

int checkpoint_load(const char *folder, struct job *j, struct err *e)
{
    if (load_state(folder, j, e) < 0 || load_file(j, folder, 0, e) < 0 ||
        load_file(j, folder, 1, e) < 0)
        return err_wrap(e, "%s", folder);
    return dev_sync(&j->dev, e);
}
