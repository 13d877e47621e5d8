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
#include "common/save.h"
#include "trainer/model/tensors.h"

static const char head_name[] = "lm_head.weight";

/* ---- writing ---------------------------------------------------------- */

/* The tensors of the file. */
struct hf_writer {
    const float *weights;
    struct tensors_array *array;
    int n, room;
    struct arena mem; /* names */
};

static int add_array(void *arg, const struct convert_tensor *t, struct err *e)
{
    struct hf_writer *w = arg;
    const struct convert_slice *slice = &t->slice;
    const size_t n = (size_t)convert_slice_count(slice);
    float *data = mem_alloc(n, sizeof *data, "weights", e);
    struct tensors_array a = { .type = "F32",
                               .data = data,
                               .bytes = n * sizeof *data,
                               .rank = slice->cols ? 2 : 1 };

    if (!data)
        return -1;
    if (t->param)
        convert_to_theirs(slice, w->weights + t->param->at, data);
    else
        memset(data, 0, a.bytes);
    a.name = arena_printf(&w->mem, "%s", t->hf);
    a.dim[0] = slice->transposed ? slice->cols : slice->rows;
    a.dim[1] = slice->transposed ? slice->rows : slice->cols;
    APPEND(w->array, w->n, w->room) = a;
    return 0;
}

/* The Python file that has the class of a model of no family. */
static int write_class(const char *folder, struct err *e)
{
    char *path = path_join(folder, "modeling_gtrain.py");
    const int ret = save_text(path, convert_own_model, e);

    if (ret == 0)
        log_info("transformers has no class for this model; %s has one, for "
                 "trust_remote_code=True",
                 path);
    free(path);
    return ret;
}

int convert_write_hf(const struct engine *eng, const float *weights,
                     enum convert_format format, const char *folder,
                     struct err *e)
{
    struct hf_writer w = { .weights = weights };
    const struct convert_family *f = convert_family(eng->set, ERR_IGNORED);
    char *path = path_join(folder, "model.safetensors");
    int ret = path_make(folder, e);

    (void)format;
    if (ret == 0)
        ret = convert_walk(eng, f, add_array, &w, e);
    if (ret == 0)
        ret = tensors_write(path, w.array, w.n, e);
    if (ret == 0)
        ret = convert_describe_hf(eng, f, folder, e);
    if (ret == 0 && !f)
        ret = write_class(folder, e);
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
    } * file;
    int n, room;
    struct hf_tensor {
        const struct tensors_array *array;
        const char *file;
        bool used;
    } * tensor; /* of all files */
    int n_tensors, room_tensors;
};

static int open_file(struct hf_files *s, const char *name, struct err *e)
{
    struct hf_file new = { .name = path_join(s->folder, name) };
    bool known = false;

    for (int i = 0; i < s->n; i++)
        known = known || strcmp(s->file[i].name, new.name) == 0;
    if (known || tensors_open(&new.tensors, new.name, e) < 0) {
        free(new.name);
        return known ? 0 : -1;
    }
    APPEND(s->file, s->n, s->room) = new;
    for (int k = 0; k < tensors_count(new.tensors); k++)
        APPEND(s->tensor, s->n_tensors, s->room_tensors) =
            (struct hf_tensor){ tensors_at(new.tensors, k), new.name, false };
    return 0;
}

static void close_files(struct hf_files *s)
{
    for (int i = 0; i < s->n; i++) {
        tensors_close(s->file[i].tensors);
        free(s->file[i].name);
    }
    FREE(s->file, s->tensor);
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
        if (open_file(s, name, e) < 0)
            return -1;
    }
    return o ? 0 : -1;
}

static int open_files(struct hf_files *s, const char *folder, struct err *e)
{
    static const char *const names[] = { "model.safetensors",
                                         "model.safetensors.index.json" };

    *s = (struct hf_files){ .folder = folder };
    if (path_has(folder, names[0]))
        return open_file(s, names[0], e);
    if (path_has(folder, names[1]))
        return open_index(s, e);
    return err_set(e, ERR_MISSING, "%s has neither %s nor %s", folder, names[0],
                   names[1]);
}

static const struct tensors_array *use_tensor(struct hf_files *s,
                                              const char *name)
{
    for (int i = 0; i < s->n_tensors; i++)
        if (strcmp(s->tensor[i].array->name, name) == 0) {
            s->tensor[i].used = true;
            return s->tensor[i].array;
        }
    return NULL;
}

static const struct tensors_array *find_embedding(const struct hf_files *s)
{
    for (int i = 0; i < s->n_tensors; i++) {
        const struct tensors_array *a = s->tensor[i].array;

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
    bool own;

    if (open_files(&s, folder, ERR_IGNORED) == 0) {
        head = use_tensor(&s, head_name);
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

    for (int i = 0; i < s->n_tensors; i++) {
        const struct hf_tensor *t = &s->tensor[i];
        bool known =
            t->used || (tied && strcmp(t->array->name, head_name) == 0);

        for (int k = 0; k < 3; k++)
            known |= str_ends(t->array->name, tables[k]);
        if (!known)
            return err_set(e, ERR_INPUT, "%s: gtrain has no counterpart for %s",
                           t->file, t->array->name);
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

struct hf_reader {
    struct hf_files files;
    const struct convert_family *family;
    float *weights;
};

/* Find a tensor with or without the prefix, which some files leave out. */
static const struct tensors_array *find_tensor(struct hf_reader *r,
                                               const char *name)
{
    const char *prefix = r->family ? r->family->prefix : "";
    const size_t n = strlen(prefix);
    const struct tensors_array *a = use_tensor(&r->files, name);

    if (!a && strncmp(name, prefix, n) == 0)
        a = use_tensor(&r->files, name + n);
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

static int read_tensor(void *arg, const struct convert_tensor *t, struct err *e)
{
    struct hf_reader *r = arg;
    const struct tensors_array *a = t->param ? find_tensor(r, t->hf) : NULL;

    if (!a)
        return err_set(e, ERR_INPUT, "%s: there is no tensor %s",
                       r->files.folder, t->hf);
    if (read_slice(a, &t->slice, t->hf, r->weights + t->param->at, e) < 0)
        return err_wrap(e, "%s", r->files.folder);
    return 0;
}

int convert_read_hf(const struct engine *eng, float *weights,
                    const char *folder, struct err *e)
{
    struct hf_reader r = { .family = convert_family(eng->set, ERR_IGNORED),
                           .weights = weights };
    int ret = open_files(&r.files, folder, e);

    if (ret == 0)
        ret = convert_walk(eng, r.family, read_tensor, &r, e);
    if (ret == 0)
        ret = check_unused(&r.files, eng->set->model.tied, e);
    close_files(&r.files);
    return ret;
}
