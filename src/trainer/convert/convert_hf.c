/* convert_hf - read and write the weights of Hugging Face models */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "trainer/convert/convert.h"
#include "trainer/model/tensors.h"

static const struct convert_row head_row = { "lm_head.weight", "lm_head.weight",
                                             CUT_ALL, LACK_NOT };

static int times(const struct job *j, const struct convert_row *row)
{
    return strstr(row->ours, "%d") ? (int)j->set->model.layers : 1;
}

static char *their_name(struct arena *mem, const struct convert_family *f,
                        const struct convert_row *row, int layer)
{
    const char *d = strstr(row->theirs, "%d");
    const char *prefix = row == &head_row ? "" : f->prefix;

    if (!d)
        return arena_printf(mem, "%s%s", prefix, row->theirs);
    return arena_printf(mem, "%s%.*s%d%s", prefix, (int)(d - row->theirs),
                        row->theirs, layer, d + 2);
}

/* ---- writing ---------------------------------------------------------- */

/* Everything their file holds. */
struct writing {
    const struct job *job;
    const struct convert_family *family;
    const float *weights;
    struct tensors_array *array;
    int n, room;
    struct arena mem; /* names */
};

static int add_array(struct writing *w, const struct convert_row *row,
                     int layer, struct err *e)
{
    const struct graph *g = &w->job->gpt.graph;
    const struct graph_param *p = convert_param(g, row->ours, layer);
    struct tensors_array a = { .type = "F32" };
    struct convert_piece piece;
    float *data;

    if (!p && row->lack == LACK_SKIP)
        return 0;
    if (!p) {
        /* a bias of ours that is not there: as long as the weight has rows */
        char *of =
            xasprintf("%.*s.weight", (int)strlen(row->ours) - 5, row->ours);

        p = convert_param(g, of, layer);
        free(of);
        piece = (struct convert_piece){ .rows = g->node[p->node].val.dim[0] };
        data = mem_alloc((size_t)piece.rows, sizeof *data, "weights", e);
        if (data)
            memset(data, 0, (size_t)piece.rows * sizeof *data);
    } else {
        convert_piece(w->job, row, p, &piece);
        data = mem_alloc((size_t)(piece.rows * (piece.cols ? piece.cols : 1)),
                         sizeof *data, "weights", e);
        if (data)
            convert_copy(&piece, (float *)(uintptr_t)(w->weights + p->at), data,
                         false);
    }
    if (!data)
        return -1;
    a.name = their_name(&w->mem, w->family, row, layer);
    a.rank = piece.cols ? 2 : 1;
    a.dim[0] = piece.turned ? piece.cols : piece.rows;
    a.dim[1] = piece.turned ? piece.rows : piece.cols;
    a.data = data;
    a.bytes = (size_t)tensors_array_count(&a) * sizeof *data;
    GROW(w->array, w->n, w->room);
    w->array[w->n++] = a;
    return 0;
}

int convert_write_hf(const struct job *j, const float *weights,
                     const char *folder, struct err *e)
{
    struct writing w = { .job = j, .weights = weights };
    char *path = path_join(folder, "model.safetensors");
    int ret = 0;

    w.family = convert_family(j->set, e);
    if (!w.family || path_make(folder, e) < 0)
        ret = -1;
    for (const struct convert_row *row = w.family ? w.family->rows : NULL;
         ret == 0 && row->ours; row++)
        for (int l = 0; l < times(j, row) && ret == 0; l++)
            ret = add_array(&w, row, l, e);
    if (ret == 0 && !j->set->model.tied)
        ret = add_array(&w, &head_row, 0, e);
    if (ret == 0)
        ret = tensors_write(path, w.array, w.n, e);
    if (ret == 0)
        ret = convert_describe_hf(j, w.family, folder, e);
    for (int i = 0; i < w.n; i++)
        free((void *)(uintptr_t)w.array[i].data);
    free(w.array);
    arena_clear(&w.mem);
    free(path);
    return ret;
}

/* ---- reading ---------------------------------------------------------- */

/* The files of a folder: model.safetensors, or those that an index names. */
struct shards {
    const char *folder;
    json_t *index; /* names of tensors to names of files; NULL: one file */
    struct shard {
        char *name;
        struct tensors *tensors;
        bool *taken; /* of each tensor: read, or known to be of no use */
    } * shard;
    int n, room;
};

static struct shard *open_shard(struct shards *s, const char *name,
                                struct err *e)
{
    struct shard new = { .name = path_join(s->folder, name) };

    for (int i = 0; i < s->n; i++)
        if (strcmp(s->shard[i].name, new.name) == 0) {
            free(new.name);
            return &s->shard[i];
        }
    if (tensors_open(&new.tensors, new.name, e) < 0) {
        free(new.name);
        return NULL;
    }
    new.taken = xcalloc((size_t)tensors_count(new.tensors) + 1, sizeof(bool));
    GROW(s->shard, s->n, s->room);
    s->shard[s->n] = new;
    return &s->shard[s->n++];
}

static void close_shards(struct shards *s)
{
    for (int i = 0; i < s->n; i++) {
        tensors_close(s->shard[i].tensors);
        free(s->shard[i].taken);
        free(s->shard[i].name);
    }
    free(s->shard);
    json_decref(s->index);
}

static int open_index(struct shards *s, struct err *e)
{
    json_t *o = convert_json(s->folder, "model.safetensors.index.json", e);
    const char *tensor;
    json_t *file;

    s->index = json_incref(json_object_get(o, "weight_map"));
    json_decref(o);
    if (o && !json_is_object(s->index))
        return err_set(e, ERR_INPUT,
                       "%s/model.safetensors.index.json has no weight_map",
                       s->folder);
    json_object_foreach(s->index, tensor, file)
    {
        const char *name = json_string_value(file);

        if (!name || strchr(name, '/'))
            return err_set(e, ERR_INPUT,
                           "%s/model.safetensors.index.json: %s is in no file "
                           "of this folder",
                           s->folder, tensor);
        if (!open_shard(s, name, e))
            return -1;
    }
    return o ? 0 : -1;
}

static int open_shards(struct shards *s, const char *folder, struct err *e)
{
    static const char *const names[] = { "model.safetensors",
                                         "model.safetensors.index.json" };
    bool there[2];

    *s = (struct shards){ .folder = folder };
    for (int i = 0; i < 2; i++) {
        char *path = path_join(folder, names[i]);

        there[i] = path_exists(path);
        free(path);
    }
    if (there[0])
        return open_shard(s, names[0], e) ? 0 : -1;
    if (there[1])
        return open_index(s, e);
    return err_set(e, ERR_MISSING, "%s has neither %s nor %s", folder, names[0],
                   names[1]);
}

static const struct tensors_array *take(struct shards *s, const char *name)
{
    for (int i = 0; i < s->n; i++) {
        struct shard *d = &s->shard[i];

        for (int k = 0; k < tensors_count(d->tensors); k++)
            if (strcmp(tensors_at(d->tensors, k)->name, name) == 0) {
                d->taken[k] = true;
                return tensors_at(d->tensors, k);
            }
    }
    return NULL;
}

/* What is left must be tables that older versions kept, or a tied head. */
static int check_left(const struct shards *s, bool tied, struct err *e)
{
    static const char *const tables[] = { ".attn.bias", ".attn.masked_bias",
                                          ".rotary_emb.inv_freq" };

    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < tensors_count(s->shard[i].tensors); k++) {
            const char *name = tensors_at(s->shard[i].tensors, k)->name;
            bool known = s->shard[i].taken[k] ||
                         (tied && strcmp(name, head_row.theirs) == 0);

            for (int t = 0; t < 3; t++)
                known |= str_ends(name, tables[t]);
            if (!known)
                return err_set(e, ERR_INPUT,
                               "%s: our model has no place for %s",
                               s->shard[i].name, name);
        }
    return 0;
}

static bool same_shape(const struct tensors_array *a,
                       const struct convert_piece *p)
{
    if (p->cols == 0)
        return a->rank == 1 && a->dim[0] == p->rows;
    return a->rank == 2 && a->dim[0] == (p->turned ? p->cols : p->rows) &&
           a->dim[1] == (p->turned ? p->rows : p->cols);
}

static int take_array(const struct job *j, const struct convert_family *f,
                      const struct convert_row *row, int layer,
                      struct shards *s, float *weights, struct err *e)
{
    const struct graph_param *p =
        convert_param(&j->gpt.graph, row->ours, layer);
    struct arena mem = ARENA_INIT;
    const char *name = their_name(&mem, f, row, layer);
    const struct tensors_array *a = p ? take(s, name) : NULL;
    struct convert_piece piece = { 0 };
    float *data = NULL;
    int ret = -1;

    if (p)
        convert_piece(j, row, p, &piece);
    if (p && !a && strncmp(name, f->prefix, strlen(f->prefix)) == 0)
        a = take(s, name + strlen(f->prefix));
    if (!a && row->lack == LACK_SKIP)
        ret = 0;
    else if (!a)
        err_set(e, ERR_INPUT, "%s: there is no tensor %s", s->folder, name);
    else if (!same_shape(a, &piece))
        err_set(e, ERR_INPUT, "%s: %s has not the shape that config.json tells",
                s->folder, name);
    else
        data = mem_alloc((size_t)tensors_array_count(a), sizeof *data, name, e);
    if (data && tensors_array_floats(a, data, e) == 0) {
        convert_copy(&piece, weights + p->at, data, true);
        ret = 0;
    }
    free(data);
    arena_clear(&mem);
    return ret;
}

int convert_read_hf(const struct job *j, float *weights, const char *folder,
                    struct err *e)
{
    const struct convert_family *f = convert_family(j->set, e);
    struct shards s = { 0 };
    int ret = f ? open_shards(&s, folder, e) : -1;

    for (const struct convert_row *row = f ? f->rows : NULL;
         ret == 0 && row->ours; row++)
        for (int l = 0; l < times(j, row) && ret == 0; l++)
            ret = take_array(j, f, row, l, &s, weights, e);
    if (ret == 0 && !j->set->model.tied)
        ret = take_array(j, f, &head_row, 0, &s, weights, e);
    if (ret == 0)
        ret = check_left(&s, j->set->model.tied, e);
    close_shards(&s);
    return ret;
}
