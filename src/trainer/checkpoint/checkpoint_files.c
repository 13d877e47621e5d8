#include "config.h"
#include "trainer/checkpoint/checkpoint_files.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/store.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/model/tensors.h"

/* What the names in the files have before those of the parameters. */
static const char *const prefixes[] = {
    [PARALLEL_WEIGHTS] = "", [PARALLEL_M] = "m.", [PARALLEL_V] = "v."
};

enum { BLOCKS = sizeof prefixes / sizeof prefixes[0] };

/* The i-th parameter as a file has it, without data, or its second moments: a
 * number for each element or for each row, or none, which are 0 bytes. */
static struct tensors_array array_of(const struct engine *eng, int i,
                                     enum parallel_state what)
{
    const struct graph *g = &eng->gpt.graph;
    const struct graph_param *p = &g->param[i];
    const struct tensor *t = &g->node[p->node].val;
    const int64_t n = what != PARALLEL_V   ? p->count
                      : eng->optim.seconds ? optim_second_count(&eng->optim, p)
                                           : 0;
    struct tensors_array a = { .name = p->name,
                               .type = "F32",
                               .rank = t->rank,
                               .dim = { t->dim[0], t->dim[1] },
                               .bytes = (size_t)n * sizeof(float) };

    if (n < p->count) {
        a.rank = 1;
        a.dim[0] = n;
        a.dim[1] = 0;
    }
    return a;
}

/* ---- writing ---------------------------------------------------------- */

/* Write those blocks that are not NULL. */
static int write_blocks(const struct checkpoint_copy *s,
                        const float *const block[BLOCKS], const char *path,
                        struct err *e)
{
    const struct graph *g = &s->engine->gpt.graph;
    AUTO_FREE struct tensors_array *all =
        xcalloc((size_t)(g->n_params * BLOCKS) + 1, sizeof *all);
    AUTO(arena_clear) struct arena names = { 0 };
    int n = 0;

    for (int i = 0; i < g->n_params; i++)
        for (int k = 0; k < BLOCKS; k++) {
            struct tensors_array *a = &all[n];

            if (!block[k])
                continue;
            *a = array_of(s->engine, i, (enum parallel_state)k);
            a->name = arena_printf(&names, "%s%s", prefixes[k], a->name);
            a->data = block[k] + g->param[i].at;
            n += a->bytes > 0;
        }
    return tensors_write(path, all, n, e);
}

int checkpoint_write(const struct checkpoint_copy *s, const char *folder,
                     struct err *e)
{
    AUTO_FREE char *model = path_join(folder, checkpoint_parts[PART_MODEL]);
    AUTO_FREE char *optim = path_join(folder, checkpoint_parts[PART_OPTIM]);
    AUTO_FREE char *config = path_join(folder, checkpoint_parts[PART_CONFIG]);
    const float *const weights[BLOCKS] = { s->weights };
    const float *const moments[BLOCKS] = { NULL, s->m, s->v };

    if (path_make(folder, e) < 0 || write_blocks(s, weights, model, e) < 0 ||
        write_blocks(s, moments, optim, e) < 0 ||
        store_write(config, config, s->config, strlen(s->config), true, NULL,
                    e) < 0 ||
        checkpoint_state_write(s->state, folder, e) < 0)
        return -1;
    return save_sync_folder(folder, e);
}

/* ---- loading ---------------------------------------------------------- */

/* The first n rows of a matrix. */
static struct tensors_array first_rows(const struct tensors_array *a, int64_t n)
{
    struct tensors_array first = *a;

    first.bytes = a->bytes / (size_t)a->dim[0] * (size_t)n;
    first.dim[0] = n;
    return first;
}

/* A table with a row for each id of the vocabulary. */
static bool is_of_ids(const char *name)
{
    return strcmp(name, "wte.weight") == 0 ||
           strcmp(name, "lm_head.weight") == 0 ||
           str_ends(name, ".attn.value_embed.weight");
}

static bool is_of_positions(const char *name)
{
    return strcmp(name, "wpe.weight") == 0;
}

/* A model may have a shorter context than its checkpoint: then it has the first
 * positions.  If it may grow, it has more ids or positions. */
static int find_tensor(const struct tensors *file, const char *prefix,
                       const struct tensors_array *t, bool grows,
                       struct tensors_array *out, struct err *e)
{
    AUTO_FREE char *name = xasprintf("%s%s", prefix, t->name);
    const struct tensors_array *a = tensors_find(file, name);
    int64_t rows = t->dim[0];
    int ret = 0;

    if (a && grows && a->dim[0] < rows && t->rank == 2 &&
        (is_of_ids(t->name) || is_of_positions(t->name)))
        rows = a->dim[0];

    if (a && a->rank == 2 && a->dim[0] > t->dim[0] &&
        is_of_positions(t->name)) {
        *out = first_rows(a, t->dim[0]);
        a = out;
    }
    if (!a)
        ret = err_input(e, "the checkpoint has no %s", name);
    else if (a->rank != t->rank || a->dim[0] != rows ||
             (t->rank > 1 && a->dim[1] != t->dim[1]))
        ret = err_input(e,
                        "%s is %lld x %lld in the checkpoint, but %lld x %lld "
                        "by the settings",
                        name, (long long)a->dim[0], (long long)a->dim[1],
                        (long long)t->dim[0], (long long)t->dim[1]);
    else
        *out = *a;
    return ret;
}

/* Rows that the table gains become the mean of the others, or zero. */
static void fill_rows(float *table, int64_t known, int64_t rows, int64_t cols,
                      bool mean)
{
    for (int64_t c = 0; c < cols; c++) {
        double sum = 0;

        for (int64_t r = 0; r < known && mean; r++)
            sum += (double)table[r * cols + c];
        for (int64_t r = known; r < rows; r++)
            table[r * cols + c] = (float)(sum / (double)known);
    }
}

/* Every rank reads the file and keeps its own share.  The optim.safetensors of
 * an imported model is empty. */
static int load_block(struct engine *eng, const struct tensors *file,
                      enum parallel_state what, int64_t ids, struct err *e)
{
    const bool grows = ids > 0, more_ids = ids < eng->set->model.vocab;
    const struct graph *g = &eng->gpt.graph;
    struct tensors_array a;
    AUTO_FREE float *numbers = NULL;
    bool warned = eng->coll.rank != 0;
    int ret = 0;

    if (tensors_count(file) == 0)
        return 0;
    numbers =
        mem_alloc((size_t)graph_largest(g), sizeof *numbers, "a parameter", e);
    if (!numbers)
        return -1;
    for (int i = 0; i < g->n_params && ret == 0; i++) {
        const struct tensors_array t = array_of(eng, i, what);
        const int64_t count = tensors_array_count(&t);

        if (count == 0)
            continue;
        ret = find_tensor(file, prefixes[what], &t, grows, &a, e);
        if (ret == 0)
            ret = tensors_array_floats(&a, numbers, e);
        if (ret == 0 && grows &&
            (is_of_positions(t.name) || (more_ids && is_of_ids(t.name))))
            /* the checkpoint knows so many ids */
            fill_rows(numbers,
                      is_of_ids(t.name) && ids < a.dim[0] ? ids : a.dim[0],
                      t.dim[0], t.dim[1], what == PARALLEL_WEIGHTS);
        if (ret == 0 && !warned && !tensors_all_finite(numbers, count)) {
            log_warn("the loaded %s%s has values that are not finite",
                     prefixes[what], t.name);
            warned = true;
        }
        if (ret == 0)
            ret = parallel_load(&eng->parallel, what, g->param[i].at, numbers,
                                count, e);
    }
    return ret;
}

static int load_part(const char *folder, int part, struct engine *eng,
                     int64_t ids, struct err *e)
{
    struct tensors *file = NULL;
    AUTO_FREE char *path = path_join(folder, checkpoint_parts[part]);
    int ret = tensors_open(&file, path, e);

    for (int k = 0; k < BLOCKS && ret == 0; k++)
        if ((k == PARALLEL_WEIGHTS) == (part == PART_MODEL))
            ret = load_block(eng, file, (enum parallel_state)k, ids, e);
    if (ret == 0 && part == PART_MODEL)
        ret = parallel_loaded(&eng->parallel, e);
    tensors_close(file);
    return ret;
}

int checkpoint_fits(const struct engine *eng, struct err *e)
{
    const char *folder = eng->weights.folder;
    const bool grows = strcmp(folder, eng->set->train.from) == 0;
    AUTO_FREE char *path = path_join(folder, checkpoint_parts[PART_MODEL]);
    struct tensors *file = NULL;
    struct tensors_array t, a;
    int ret = tensors_open(&file, path, e);

    for (int i = 0; i < eng->gpt.graph.n_params && ret == 0; i++) {
        t = array_of(eng, i, PARALLEL_WEIGHTS);
        ret = find_tensor(file, "", &t, grows, &a, e);
    }
    tensors_close(file);
    return ret < 0 ? err_wrap(e, "%s", folder) : 0;
}

int checkpoint_load_weights(const char *folder, struct engine *eng, int64_t ids,
                            struct err *e)
{
    const int64_t added = ids > 0 ? eng->set->model.vocab - ids : 0;

    if (load_part(folder, PART_MODEL, eng, ids, e) < 0)
        return err_wrap(e, "%s", folder);
    if (eng->coll.rank == 0 && added > 0)
        log_info("the vocabulary has %lld more ids than %s; their embeddings "
                 "begin as the mean of the others",
                 (long long)added, folder);
    else if (eng->coll.rank == 0)
        checkpoint_state_compare(folder, eng);
    return 0;
}

int checkpoint_load(const char *folder, struct engine *eng, struct err *e)
{
    if (checkpoint_state_load(folder, eng, e) < 0 ||
        (!eng->data.chat &&
         checkpoint_text(folder, "chat", &eng->data.chat, e) < 0) ||
        load_part(folder, PART_MODEL, eng, 0, e) < 0 ||
        load_part(folder, PART_OPTIM, eng, 0, e) < 0)
        return err_wrap(e, "%s", folder);
    return dev_sync(&eng->dev, e);
}

void checkpoint_compare(const struct settings *s, const struct settings *then,
                        const char *breaks(const char *key))
{
    AUTO(buf_clear) struct buf was = BUF_INIT, is = BUF_INIT;

    for (const struct setting *row = settings_table; row->key; row++) {
        const char *what = breaks(row->key);

        buf_trim(&was, 0);
        buf_trim(&is, 0);
        conf_text(&then->conf, row, &was);
        conf_text(&s->conf, row, &is);
        if (what && strcmp(was.s, is.s) != 0)
            log_warn("%s is %s, but the checkpoint was written with %s: %s",
                     row->key, is.s, was.s, what);
    }
}

/* ---- the model that training starts from --------------------------------- */

/* What another value breaks, of a setting that is not only about training. */
static const char *from_breaks(const char *key)
{
    static const char *const free[] = { "preset",  "context", "vocab",
                                        "dropout", "init_",   "mask" };

    if (strncmp(key, "model.", 6) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof free / sizeof *free; i++)
        if (strncmp(key + 6, free[i], strlen(free[i])) == 0)
            return NULL;
    return "its weights were trained for another function";
}

int checkpoint_from_find(struct settings *s, struct err *e)
{
    AUTO_FREE char *path = NULL, *id = NULL;
    int ret;

    if (!*s->train.from)
        return 0;
    ret = checkpoint_find(s, s->train.from, &path, e);
    if (ret == 0 && !path)
        ret = err_set(e, ERR_MISSING, "%s has no checkpoint", s->train.from);
    if (ret == 0)
        ret = checkpoint_text(path, "run_id", &id, e);
    if (ret == 0)
        ret = conf_put(&s->conf, "train.from", path, "train.from", e);
    if (ret == 0 && !*s->run.parent)
        ret = conf_put(&s->conf, "run.parent", id, "train.from", e);
    return ret < 0 ? err_wrap(e, "train.from") : 0;
}

int checkpoint_from_load(struct engine *eng, const char *sum, struct err *e)
{
    const char *folder = eng->set->train.from;
    AUTO(settings_clear) struct settings then = { 0 };
    char is[SHA256_TEXT];
    int ret = 0;

    if (!*folder)
        return 0;
    if (sum) /* where it was just found, it has been verified */
        ret = checkpoint_verify(folder, e);
    if (ret == 0 && sum)
        ret = checkpoint_state_sum(folder, PART_MODEL, is, e);
    if (ret == 0 && sum && *sum && strcmp(sum, is) != 0)
        ret = err_input(e,
                        "%s is not the model that training started from: the "
                        "SHA-256 of its weights is %.12s, not %.12s",
                        folder, is, sum);
    if (ret == 0)
        ret = checkpoint_settings(&then, folder, e);
    if (ret == 0 && !eng->data.chat)
        ret = checkpoint_text(folder, "chat", &eng->data.chat, e);
    if (ret == 0)
        ret = checkpoint_load_weights(folder, eng, then.model.vocab, e);
    if (ret == 0 && eng->set->train.from_moments &&
        (checkpoint_state_steps(folder, eng, e) < 0 ||
         load_part(folder, PART_OPTIM, eng, then.model.vocab, e) < 0))
        ret = err_wrap(e, "%s", folder);
    if (ret == 0 && !sum && eng->coll.rank == 0)
        checkpoint_compare(eng->set, &then, from_breaks);
    return ret < 0 ? err_wrap(e, "train.from") : dev_sync(&eng->dev, e);
}

/* ---- a copy in memory --------------------------------------------------- */

/* No block is fine for a count of 0. */
static bool is_alloced(float **block, int64_t count, struct err *e)
{
    if (count > 0)
        *block = mem_alloc((size_t)count, sizeof **block,
                           "memory for checkpoints", e);
    return count == 0 || *block;
}

int checkpoint_copy_open(struct checkpoint_copy *s, struct engine *eng,
                         struct err *e)
{
    const int64_t n = eng->coll.rank == 0 ? eng->gpt.graph.count : 0;
    const int64_t m = eng->gpt.graph.training ? n : 0;
    int64_t lacks = !is_alloced(&s->weights, n, e) ||
                    !is_alloced(&s->m, m, e) ||
                    !is_alloced(&s->v, eng->optim.seconds ? n : 0, e) ||
                    !is_alloced(&s->own, eng->parallel.own_count, e);
    struct buf config = BUF_INIT;

    if (coll_max(&eng->coll, &lacks, e) < 0)
        return -1;
    if (lacks && e->kind == ERR_NONE)
        err_set(e, ERR_SYSTEM, "another rank lacks memory for checkpoints");
    if (lacks)
        return -1;
    s->engine = eng;
    conf_dump(&eng->set->conf, &config);
    s->config = buf_detach(&config);
    return 0;
}

int checkpoint_copy_take(struct checkpoint_copy *s, struct engine *eng,
                         const char *run_id, struct err *e)
{
    if (!s->config && checkpoint_copy_open(s, eng, e) < 0)
        return -1;
    free(s->state);
    s->state = checkpoint_state_text(eng, run_id);
    if (parallel_collect(&eng->parallel, PARALLEL_WEIGHTS, s->weights, s->own,
                         e) < 0 ||
        (eng->gpt.graph.training &&
         parallel_collect(&eng->parallel, PARALLEL_M, s->m, s->own, e) < 0) ||
        (eng->optim.seconds &&
         parallel_collect(&eng->parallel, PARALLEL_V, s->v, s->own, e) < 0))
        return -1;
    return dev_sync(&eng->dev, e);
}

void checkpoint_copy_clear(struct checkpoint_copy *s)
{
    FREE(s->weights, s->m, s->v, s->own, s->config, s->state);
    *s = (struct checkpoint_copy){ 0 };
}
