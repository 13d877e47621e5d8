/*
 * gtrain import - convert a model of another program to a checkpoint
 */
#include "config.h"

#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/save.h"
#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/convert/convert.h"
#include "trainer/model/gpt.h"
#include "trainer/model/tensors.h"

static const char *const format_words[] = { "hf", "llm.c", NULL };

/* In the order of the words. */
static const struct {
    convert_settings_fn *settings;
    convert_read_fn *weights;
} readers[] = {
    { convert_settings_hf, convert_read_hf },
    { convert_settings_llmc, convert_read_llmc },
};

static const char *output, *tokenizer;
static int format;
static int context;

static const struct opt import_opts[] = {
    { 'f', "format", "name", OPT_WORD, &format,
      "read this format: %s (default: hf)", format_words },
    { 'o', "output", "folder", OPT_STRING, &output,
      "write the checkpoint to FOLDER (required)" },
    { 't', "tokenizer", "path", OPT_STRING, &tokenizer,
      "store PATH as data.tokenizer (default: that of hf)" },
    { 0, "context", "n", OPT_INT, &context,
      "set model.context to N and keep only N learned positions" },
    { 0 }
};

/* Change settings by lines of "key=value" from the model at path. */
static int set_lines(struct settings *s, char *line, const char *path,
                     struct err *e)
{
    while (*line) {
        char *end = line + strcspn(line, "\n");

        char *value = strchr(line, '=');

        *end = *value = '\0';
        if (conf_put(&s->conf, line, value + 1, path, e) < 0)
            return -1;
        line = end + 1;
    }
    return 0;
}

static int set_context(struct settings *s, struct err *e)
{
    const int64_t most = gpt_positions(&s->model);

    if (most > 0 && context > most)
        return err_usage(e, "--context %d: the model has %lld positions",
                         context, (long long)most);
    return conf_put_int(&s->conf, "model.context", context, "--context", e);
}

static int load_settings(struct settings *s, const char *path, struct err *e)
{
    AUTO(buf_clear) struct buf lines = BUF_INIT;

    if (settings_load(s, NULL, NULL, 0, e) < 0 ||
        readers[format].settings(path, &lines, e) < 0 ||
        set_lines(s, lines.s, path, e) < 0 ||
        (context != 0 && set_context(s, e) < 0) ||
        (tokenizer && conf_put(&s->conf, "data.tokenizer", tokenizer,
                               "--tokenizer", e) < 0) ||
        conf_put(&s->conf, "train.device", "cpu", "gtrain import", e) < 0)
        return -1;
    return conf_put_int(&s->conf, "train.micro_batch", 1, "gtrain import", e);
}

static void warn_nonfinite(const struct graph *g, const float *weights)
{
    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = &g->param[i];

        if (!tensors_all_finite(weights + p->at, p->count)) {
            log_warn("the imported %s has values that are not finite", p->name);
            return;
        }
    }
}

static int read_weights(struct engine *eng, const char *path, struct err *e)
{
    const size_t n = (size_t)eng->gpt.graph.count;
    AUTO_FREE float *weights = mem_alloc(n, sizeof *weights, "weights", e);

    if (!weights)
        return -1;
    memset(weights, 0, n * sizeof *weights);
    if (readers[format].weights(eng, weights, path, e) < 0)
        return -1;
    warn_nonfinite(&eng->gpt.graph, weights);
    eng->dev.type->put(&eng->dev, eng->gpt.graph.weights.data, weights,
                       n * sizeof *weights);
    return 0;
}

static int write_checkpoint(struct engine *eng, struct save_folder *to,
                            struct err *e)
{
    AUTO(checkpoint_copy_clear) struct checkpoint_copy snap = { 0 };

    if (checkpoint_copy_take(&snap, eng, "", e) < 0 ||
        checkpoint_write(&snap, to->folder, e) < 0)
        return -1;
    return save_folder_commit(to, e);
}

static int import_main(int argc, char **argv, struct err *e)
{
    AUTO(settings_clear) struct settings s = { 0 };
    AUTO(engine_close) struct engine eng = { 0 };
    AUTO(save_folder_abandon) struct save_folder to = { 0 };
    char n[NUM_TEXT];

    if (argc < 1)
        return err_usage(e, "import needs the path of a model");
    if (argc > 1)
        return err_usage(e, "unexpected argument '%s'", argv[1]);
    if (!output)
        return err_usage(e, "use --output FOLDER to name the output");
    if (save_folder_open(&to, output, e) < 0 ||
        load_settings(&s, argv[0], e) < 0 ||
        engine_open(&eng, &s, ENGINE_INFER, e) < 0 ||
        read_weights(&eng, argv[0], e) < 0)
        return -1;
    s.train.precision = PRECISION_AUTO; /* whoever trains it chooses */
    if (write_checkpoint(&eng, &to, e) < 0)
        return -1;
    log_info("wrote %s: %s parameters", output, num_comma(n, s.is.parameters));
    return 0;
}

const struct cmd cmd_import = {
    .name = "import",
    .args = "MODEL",
    .help = "convert a model of another program to a checkpoint",
    .opts = import_opts,
    .output = &output,
    .run = import_main,
};
