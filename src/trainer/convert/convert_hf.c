/*
 * convert_hf - the weights of a Hugging Face model
 */
#include "config.h"
#include "trainer/convert/convert.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "trainer/model/tensors.h"

static const struct convert_row head_row = { "lm_head.weight",
                                             "lm_head.weight" };

static char *their_name(struct arena *mem, const struct convert_family *f,
                        const struct convert_row *row, int layer)
{
    char name[128];

    convert_name(name, sizeof name, row->theirs, layer);
    return arena_printf(mem, "%s%s", row == &head_row ? "" : f->prefix, name);
}

/* ---- writing ---------------------------------------------------------- */

/* The tensors of the file. */
struct hf_writer {
    const struct engine *engine;
    const struct convert_family *family;
    const float *weights;
    struct tensors_array *array;
    int n, room;
    struct arena mem; /* names */
};

/* Zeros in place of a bias that our model lacks, as many as the weight has
 * rows. */
static float *make_zeros(const struct graph *g, const struct convert_row *row,
                         int layer, struct convert_slice *slice, struct err *e)
{
    char *weight =
        xasprintf("%.*s.weight", (int)strlen(row->ours) - 5, row->ours);
    const struct graph_param *p = convert_param(g, weight, layer);
    float *data;

    free(weight);
    *slice = (struct convert_slice){ .rows = g->node[p->node].val.dim[0] };
    data = mem_alloc((size_t)slice->rows, sizeof *data, "weights", e);
    if (data)
        memset(data, 0, (size_t)slice->rows * sizeof *data);
    return data;
}

static float *make_tensor(const struct hf_writer *w,
                          const struct convert_row *row,
                          const struct graph_param *p,
                          struct convert_slice *slice, struct err *e)
{
    float *data;

    convert_slice(w->engine, row, p, slice);
    data = mem_alloc((size_t)convert_slice_count(slice), sizeof *data,
                     "weights", e);
    if (data)
        convert_to_theirs(slice, w->weights + p->at, data);
    return data;
}

static int add_array(struct hf_writer *w, const struct convert_row *row,
                     int layer, struct err *e)
{
    const struct graph *g = &w->engine->gpt.graph;
    const struct graph_param *p = convert_param(g, row->ours, layer);
    struct tensors_array a = { .type = "F32" };
    struct convert_slice slice;
    float *data;

    if (!p && row->missing != MISSING_ZEROS)
        return 0;
    data = p ? make_tensor(w, row, p, &slice, e)
             : make_zeros(g, row, layer, &slice, e);
    if (!data)
        return -1;
    a.name = their_name(&w->mem, w->family, row, layer);
    a.rank = slice.cols ? 2 : 1;
    a.dim[0] = slice.transposed ? slice.cols : slice.rows;
    a.dim[1] = slice.transposed ? slice.rows : slice.cols;
    a.data = data;
    a.bytes = (size_t)tensors_array_count(&a) * sizeof *data;
    GROW(w->array, w->n, w->room);
    w->array[w->n++] = a;
    return 0;
}

int convert_write_hf(const struct engine *eng, const float *weights,
                     const char *folder, struct err *e)
{
    struct err none = { 0 };
    struct hf_writer w = { .engine = eng, .weights = weights };
    char *path;
    int ret;

    w.family = convert_family(eng->set, &none);
    if (!w.family)
        return convert_write_own(eng, weights, folder, e);
    path = path_join(folder, "model.safetensors");
    ret = path_make(folder, e);
    for (const struct convert_row *row = w.family->rows; ret == 0 && row->ours;
         row++)
        for (int l = 0; l < convert_layers(eng, row->ours) && ret == 0; l++)
            ret = add_array(&w, row, l, e);
    if (ret == 0 && !eng->set->model.tied)
        ret = add_array(&w, &head_row, 0, e);
    if (ret == 0)
        ret = tensors_write(path, w.array, w.n, e);
    if (ret == 0)
        ret = convert_describe_hf(eng, w.family, folder, e);
    for (int i = 0; i < w.n; i++)
        free((void *)(uintptr_t)w.array[i].data);
    free(w.array);
    arena_clear(&w.mem);
    free(path);
    return ret;
}

/* ---- reading ---------------------------------------------------------- */

/* The files of a folder: model.safetensors, or the ones an index names. */
struct hf_files {
    const char *folder;
    json_t *index; /* names of tensors to names of files; NULL: one file */
    struct hf_file {
        char *name;
        struct tensors *tensors;
        bool *used; /* of each tensor */
    } * file;
    int n, room;
};

static struct hf_file *open_file(struct hf_files *s, const char *name,
                                 struct err *e)
{
    struct hf_file new = { .name = path_join(s->folder, name) };

    for (int i = 0; i < s->n; i++)
        if (strcmp(s->file[i].name, new.name) == 0) {
            free(new.name);
            return &s->file[i];
        }
    if (tensors_open(&new.tensors, new.name, e) < 0) {
        free(new.name);
        return NULL;
    }
    new.used = xcalloc((size_t)tensors_count(new.tensors) + 1, sizeof(bool));
    GROW(s->file, s->n, s->room);
    s->file[s->n] = new;
    return &s->file[s->n++];
}

static void close_files(struct hf_files *s)
{
    for (int i = 0; i < s->n; i++) {
        tensors_close(s->file[i].tensors);
        free(s->file[i].used);
        free(s->file[i].name);
    }
    free(s->file);
    json_decref(s->index);
}

static int open_index(struct hf_files *s, struct err *e)
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
                           "%s/model.safetensors.index.json: the file of %s is "
                           "not in this folder",
                           s->folder, tensor);
        if (!open_file(s, name, e))
            return -1;
    }
    return o ? 0 : -1;
}

static int open_files(struct hf_files *s, const char *folder, struct err *e)
{
    static const char *const names[] = { "model.safetensors",
                                         "model.safetensors.index.json" };
    bool there[2];

    *s = (struct hf_files){ .folder = folder };
    for (int i = 0; i < 2; i++) {
        char *path = path_join(folder, names[i]);

        there[i] = path_exists(path);
        free(path);
    }
    if (there[0])
        return open_file(s, names[0], e) ? 0 : -1;
    if (there[1])
        return open_index(s, e);
    return err_set(e, ERR_MISSING, "%s has neither %s nor %s", folder, names[0],
                   names[1]);
}

static const struct tensors_array *use_tensor(struct hf_files *s,
                                              const char *name)
{
    for (int i = 0; i < s->n; i++) {
        struct hf_file *d = &s->file[i];

        for (int k = 0; k < tensors_count(d->tensors); k++)
            if (strcmp(tensors_at(d->tensors, k)->name, name) == 0) {
                d->used[k] = true;
                return tensors_at(d->tensors, k);
            }
    }
    return NULL;
}

static const struct tensors_array *find_embedding(const struct hf_files *s)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < tensors_count(s->file[i].tensors); k++) {
            const struct tensors_array *a = tensors_at(s->file[i].tensors, k);

            if (str_ends(a->name, "wte.weight") ||
                str_ends(a->name, "embed_tokens.weight"))
                return a;
        }
    return NULL;
}

bool convert_has_own_head(const char *folder)
{
    const struct tensors_array *head = NULL, *wte = NULL;
    struct hf_files s;
    struct err e = { 0 };
    bool own;

    if (open_files(&s, folder, &e) == 0) {
        head = use_tensor(&s, head_row.theirs);
        wte = find_embedding(&s);
    }
    own = head && wte &&
          (strcmp(head->type, wte->type) != 0 || head->bytes != wte->bytes ||
           memcmp(head->data, wte->data, wte->bytes) != 0);
    if (own)
        log_warn("%s is not %s; the model is imported with its own head, "
                 "although config.json says tie_word_embeddings",
                 head->name, wte->name);
    close_files(&s);
    return own;
}

/* A tensor that was not used must be a table of an older version of
 * transformers, or a tied head. */
static int check_unused(const struct hf_files *s, bool tied, struct err *e)
{
    static const char *const tables[] = { ".attn.bias", ".attn.masked_bias",
                                          ".rotary_emb.inv_freq" };

    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < tensors_count(s->file[i].tensors); k++) {
            const char *name = tensors_at(s->file[i].tensors, k)->name;
            bool known = s->file[i].used[k] ||
                         (tied && strcmp(name, head_row.theirs) == 0);

            for (int t = 0; t < 3; t++)
                known |= str_ends(name, tables[t]);
            if (!known)
                return err_set(e, ERR_INPUT,
                               "%s: gtrain has no counterpart for %s",
                               s->file[i].name, name);
        }
    return 0;
}

static bool same_shape(const struct tensors_array *a,
                       const struct convert_slice *p)
{
    if (p->cols == 0)
        return a->rank == 1 && a->dim[0] == p->rows;
    if (p->cropped)
        return a->rank == 2 && a->dim[0] >= p->rows && a->dim[1] == p->cols;
    return a->rank == 2 && a->dim[0] == (p->transposed ? p->cols : p->rows) &&
           a->dim[1] == (p->transposed ? p->rows : p->cols);
}

/* Find a tensor with or without the prefix, which some files leave out. */
static const struct tensors_array *find_tensor(struct hf_files *s,
                                               const struct convert_family *f,
                                               const char *name)
{
    const size_t n = strlen(f->prefix);
    const struct tensors_array *a = use_tensor(s, name);

    if (!a && strncmp(name, f->prefix, n) == 0)
        a = use_tensor(s, name + n);
    return a;
}

static int read_slice(const struct tensors_array *a,
                      const struct convert_slice *slice, const char *name,
                      float *ours, struct err *e)
{
    const size_t n = (size_t)tensors_array_count(a);
    float *data;
    int ret = -1;

    if (!same_shape(a, slice))
        return err_set(e, ERR_INPUT,
                       "%s does not have the shape of the model in config.json",
                       name);
    data = mem_alloc(n, sizeof *data, name, e);
    if (data && tensors_array_floats(a, data, e) == 0) {
        convert_to_ours(slice, ours, data);
        ret = 0;
    }
    free(data);
    return ret;
}

static int read_row(const struct engine *eng, const struct convert_family *f,
                    const struct convert_row *row, int layer,
                    struct hf_files *s, float *weights, struct err *e)
{
    const struct graph_param *p =
        convert_param(&eng->gpt.graph, row->ours, layer);
    const struct tensors_array *a = NULL;
    struct arena mem = { 0 };
    const char *name = their_name(&mem, f, row, layer);
    struct convert_slice slice;
    int ret = 0;

    if (p) {
        a = find_tensor(s, f, name);
        convert_slice(eng, row, p, &slice);
    }
    if (a)
        ret = read_slice(a, &slice, name, weights + p->at, e);
    else if (p || row->missing != MISSING_OURS)
        ret = err_set(e, ERR_INPUT, "there is no tensor %s", name);
    if (ret < 0)
        err_wrap(e, "%s", s->folder);
    arena_clear(&mem);
    return ret;
}

static int read_family(const struct engine *eng, const struct convert_family *f,
                       struct hf_files *s, float *weights, struct err *e)
{
    int ret = 0;

    for (const struct convert_row *row = f->rows; ret == 0 && row->ours; row++)
        for (int l = 0; l < convert_layers(eng, row->ours) && ret == 0; l++)
            ret = read_row(eng, f, row, l, s, weights, e);
    if (ret == 0 && !eng->set->model.tied)
        ret = read_row(eng, f, &head_row, 0, s, weights, e);
    return ret;
}

/* A model of no family, whose tensors have our names (convert_own.c). */
static int read_own(const struct engine *eng, struct hf_files *s,
                    float *weights, struct err *e)
{
    static const struct convert_family own = { .prefix = "" };
    const struct graph *g = &eng->gpt.graph;
    int ret = 0;

    for (int i = 0; i < g->n_params && ret == 0; i++) {
        const struct convert_row row = { .ours = g->param[i].name,
                                         .theirs = g->param[i].name };

        ret = read_row(eng, &own, &row, 0, s, weights, e);
    }
    return ret;
}

int convert_read_hf(const struct engine *eng, float *weights,
                    const char *folder, struct err *e)
{
    struct err none = { 0 };
    const struct convert_family *f = convert_family(eng->set, &none);
    struct hf_files s = { 0 };
    int ret = open_files(&s, folder, e);

    if (ret == 0)
        ret = f ? read_family(eng, f, &s, weights, e)
                : read_own(eng, &s, weights, e);
    if (ret == 0)
        ret = check_unused(&s, eng->set->model.tied, e);
    close_files(&s);
    return ret;
}
