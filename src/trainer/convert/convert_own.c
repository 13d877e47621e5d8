/*
 * convert_own - models that transformers has no class for
 *
 * The parameters keep our names; modeling_gtrain.py beside them has the class.
 */
#include "config.h"
#include "trainer/convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "trainer/model/tensors.h"

/* Without the rows that pad the vocabulary. */
static struct tensors_array describe_param(const struct job *j,
                                           const struct graph_param *p,
                                           const float *weights)
{
    const struct tensor *val = &j->gpt.graph.node[p->node].val;
    struct tensors_array a = { .name = p->name,
                               .type = "F32",
                               .rank = val->rank,
                               .data = weights + p->at };

    for (int i = 0; i < val->rank; i++)
        a.dim[i] = val->dim[i];
    if (strcmp(p->name, "wte.weight") == 0 ||
        strcmp(p->name, "lm_head.weight") == 0)
        a.dim[0] = j->set->model.vocab;
    a.bytes = (size_t)tensors_array_count(&a) * sizeof *weights;
    return a;
}

int convert_write_own(const struct job *j, const float *weights,
                      const char *folder, struct err *e)
{
    const struct graph *g = &j->gpt.graph;
    struct tensors_array *array = xcalloc((size_t)g->n_params, sizeof *array);
    char *path = path_join(folder, "model.safetensors");
    char *python = path_join(folder, "modeling_gtrain.py");
    int ret = path_make(folder, e);

    for (int i = 0; i < g->n_params; i++)
        array[i] = describe_param(j, &g->param[i], weights);
    if (ret == 0)
        ret = tensors_write(path, array, g->n_params, e);
    if (ret == 0)
        ret = save_text(python, convert_own_model, e);
    if (ret == 0)
        ret = convert_describe_hf(j, NULL, folder, e);
    if (ret == 0)
        log_info("transformers has no class for this model; %s has one, for "
                 "trust_remote_code=True",
                 python);
    free(array);
    free(path);
    free(python);
    return ret;
}
