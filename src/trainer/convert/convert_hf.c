/*
 * convert_hf - the weights of a Hugging Face model
 */
#include "config.h"
#include "trainer/convert/convert.h"

#include <jansson.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
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
    AUTO_FREE char *path = path_join(folder, "modeling_gtrain.py");
    const int ret = save_text(path, convert_own_model, e);

    if (ret == 0)
        log_info("transformers has no class for this model; %s has one, for "
                 "trust_remote_code=True",
                 path);
    return ret;
}

int convert_write_hf(const struct engine *eng, const float *weights,
                     enum convert_format format UNUSED, const char *folder,
                     struct err *e)
{
    struct hf_writer w = { .weights = weights };
    const struct convert_family *f = convert_family(eng->set, ERR_IGNORED);
    AUTO_FREE char *path = path_join(folder, "model.safetensors");
    int ret = path_make(folder, e);

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
    json_auto_t *o = convert_json(s->folder, "model.safetensors.index.json", e);
    const char *tensor;
    json_t *file;

    s->index = json_incref(json_object_get(o, "weight_map"));
    if (o && !json_is_object(s->index))
        return err_input(e, "%s/model.safetensors.index.json has no weight_map",
                         s->folder);
    json_object_foreach(s->index, tensor, file)
    {
        const char *name = json_string_value(file);

        if (!name || strchr(name, '/'))
            return err_input(e,
                             "%s/model.safetensors.index.json: the file of %s "
                             "is not in this folder",
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
            return err_input(e, "%s: gtrain has no counterpart for %s", t->file,
                             t->array->name);
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
    AUTO_FREE float *data = NULL;

    if (!same_shape(a, slice))
        return err_input(
            e, "%s does not have the shape of the model in config.json", name);
    data = mem_alloc(n, sizeof *data, name, e);
    if (!data || tensors_array_floats(a, data, e) < 0)
        return -1;
    convert_to_ours(slice, ours, data);
    return 0;
}

static int read_tensor(void *arg, const struct convert_tensor *t, struct err *e)
{
    struct hf_reader *r = arg;
    const struct tensors_array *a = t->param ? find_tensor(r, t->hf) : NULL;

    if (!a)
        return err_input(e, "%s: there is no tensor %s", r->files.folder,
                         t->hf);
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

/* ---- rotary angles ------------------------------------------------------ */

/* What transformers calls the numbers of model.rope_scaling. */
static const struct scaling_keys {
    const char *kind, *low, *high;
    double low_otherwise, high_otherwise; /* 0: they must be there */
} scaling_keys[] = {
    { "llama3", "low_freq_factor", "high_freq_factor", 0, 0 },
    { "yarn", "beta_slow", "beta_fast", 1, 32 },
};

static const struct scaling_keys *find_scaling(const char *kind)
{
    for (size_t i = 0; kind && i < sizeof scaling_keys / sizeof *scaling_keys;
         i++)
        if (strcmp(scaling_keys[i].kind, kind) == 0)
            return &scaling_keys[i];
    return NULL;
}

/* Into rope_parameters, and into rope_scaling for transformers 4. */
static void describe_scaling(json_t *o, const struct settings *s)
{
    json_t *both = json_object_get(o, "rope_parameters");
    const struct scaling_keys *k;
    struct rope_scaling r;

    k = rope_scaling_parse(s->model.rope_scaling, &r) ? find_scaling(r.kind)
                                                      : NULL;
    if (!k)
        return;
    json_object_set_new(both, "rope_type", json_string(r.kind));
    json_object_set_new(both, "factor", json_real(r.factor));
    json_object_set_new(both, k->low, json_real(r.low));
    json_object_set_new(both, k->high, json_real(r.high));
    json_object_set_new(both, "original_max_position_embeddings",
                        json_integer((json_int_t)r.context));
    json_object_set_new(o, "rope_scaling", json_deep_copy(both));
}

static void describe_nope(json_t *o, const struct model_settings *m)
{
    json_t *layers;

    if (!m->nope_every)
        return;
    layers = json_array();
    for (int l = 1; l <= m->layers; l++)
        json_array_append_new(layers, json_integer(l % m->nope_every != 0));
    json_object_set_new(o, "no_rope_layers", layers);
    json_object_set_new(o, "no_rope_layer_interval",
                        json_integer(m->nope_every));
}

/* rope_theta is written twice, for transformers 4 and for transformers 5. */
void hf_rope_describe(json_t *o, const struct settings *s)
{
    json_object_set_new(o, "rope_parameters",
                        json_pack("{s:s, s:f}", "rope_type", "default",
                                  "rope_theta", s->model.rope_theta));
    describe_scaling(o, s);
    describe_nope(o, &s->model);
}

/* They are the same in all layers, and turn all elements of a head. */
static int check_angles(const json_t *rope, struct err *e)
{
    static const char partial[] = "partial_rotary_factor";
    static const char layers[] = "full_attention";

    if (hf_config_has(rope, partial) &&
        json_number_value(json_object_get(rope, partial)) != 1)
        return hf_config_reject(e, rope, partial, "gtrain rotates whole heads");
    if (hf_config_has(rope, layers))
        return hf_config_reject(e, rope, layers,
                                "gtrain has the same angles in all layers");
    return 0;
}

static int find_number(const json_t *o, const char *key, double otherwise,
                       char text[NUM_TEXT], struct err *e)
{
    const json_t *value = json_object_get(o, key);
    const double x =
        hf_config_has(o, key) ? json_number_value(value) : otherwise;

    num_shortest(text, x);
    return x > 0
               ? 0
               : err_input(e,
                           "config.json: the scaling of rotary angles needs a "
                           "number %s",
                           key);
}

static int add_scaling(const json_t *o, const json_t *r,
                       const struct scaling_keys *k, struct buf *out,
                       struct err *e)
{
    static const char *const others[] = { "attention_factor", "mscale",
                                          "mscale_all_dim", "truncate" };
    const double context =
        json_number_value(json_object_get(o, "max_position_embeddings"));
    char factor[NUM_TEXT], low[NUM_TEXT], high[NUM_TEXT], before[NUM_TEXT];

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (hf_config_has(r, others[i]))
            return hf_config_reject(e, r, others[i],
                                    "gtrain scales rotary angles without it");
    if (find_number(r, "factor", 0, factor, e) < 0 ||
        find_number(r, k->low, k->low_otherwise, low, e) < 0 ||
        find_number(r, k->high, k->high_otherwise, high, e) < 0 ||
        find_number(r, "original_max_position_embeddings",
                    k->low_otherwise > 0 ? context : 0, before, e) < 0)
        return -1;
    buf_printf(out,
               "model.rope_scaling=%s, factor=%s, low=%s, high=%s, "
               "context=%s\n",
               k->kind, factor, low, high, before);
    return 0;
}

/* The layers without rotary angles: every n-th.  The file has n, which may be
 * more than it has layers, or a list with 0 for each such layer. */
static int add_nope(const json_t *o, json_int_t every, struct buf *out,
                    struct err *e)
{
    static const char interval[] = "no_rope_layer_interval";
    static const char list[] = "no_rope_layers";
    const json_t *layers = json_object_get(o, list), *has;
    size_t i;

    if (hf_config_has(o, interval))
        every = json_integer_value(json_object_get(o, interval));
    if (json_is_array(layers)) {
        for (i = 0; i < json_array_size(layers); i++)
            if (json_integer_value(json_array_get(layers, i)) == 0)
                break;
        every = i < json_array_size(layers) ? (json_int_t)i + 1 : 0;
    }
    json_array_foreach(layers, i, has)
    {
        const bool without = every && ((json_int_t)i + 1) % every == 0;

        if (json_integer_value(has) != !without)
            return hf_config_reject(
                e, o, list, "gtrain leaves out the angles of every n-th layer");
    }
    if (every < 0 || (every && every <= json_integer_value(json_object_get(
                                            o, "num_hidden_layers"))))
        buf_printf(out, "model.nope_every=%lld\n", (long long)every);
    return 0;
}

/* The angles: transformers 4 has rope_theta and rope_scaling, 5 has both in
 * rope_parameters, unless there is rope_scaling, too. */
int hf_rope_read(const json_t *o, int nope, struct buf *out, struct err *e)
{
    static const char *const keys[] = { "rope_parameters", "rope_scaling" };
    static const struct hf_key theta = { "rope_theta", "model.rope_theta",
                                         "10000" };
    const json_t *from = o, *scaled = NULL;
    const struct scaling_keys *how = NULL;

    for (int i = 0; i < 2; i++) {
        const json_t *r = json_object_get(o, keys[i]);
        const char *key = hf_config_has(r, "rope_type") ? "rope_type"
                          : hf_config_has(r, "type")    ? "type"
                                                        : "factor";
        const char *type = json_string_value(json_object_get(r, key));
        const struct scaling_keys *k = find_scaling(type);

        if (!hf_config_has(o, keys[i]))
            continue;
        if (hf_config_has(r, key) && !k &&
            (!type || strcmp(type, "default") != 0))
            return hf_config_reject(
                e, r, key, "gtrain scales rotary angles as llama3 and yarn do");
        how = k;
        scaled = r;
        if (hf_config_has(r, "rope_theta"))
            from = r;
        if (check_angles(r, e) < 0)
            return -1;
    }
    if (check_angles(o, e) < 0 ||
        (how && add_scaling(o, scaled, how, out, e) < 0) ||
        add_nope(o, nope, out, e) < 0)
        return -1;
    return hf_config_read(from, &theta, out, e);
}
