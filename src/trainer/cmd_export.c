/*
 * gtrain export - write a trained model in the format of another program
 */
#include "config.h"
#include "trainer/cmds.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "trainer/convert/convert.h"
#include "trainer/trained_model.h"

enum { FORMAT_HF, FORMAT_LLMC, FORMAT_GGUF };

static const char *const format_words[] = {
    [FORMAT_HF] = "hf", [FORMAT_LLMC] = "llm.c", [FORMAT_GGUF] = "gguf", NULL
};

static convert_write_fn *const writers[] = {
    [FORMAT_HF] = convert_write_hf,
    [FORMAT_LLMC] = convert_write_llmc,
    [FORMAT_GGUF] = convert_write_gguf,
};

static const char *output, *root;
static int format = FORMAT_HF;
static struct opt_list sets;

static const struct opt export_opts[] = {
    { 'f', "format", "name", OPT_WORD, &format,
      "write this format: %s (default: hf)", format_words },
    { 'o', "output", "path", OPT_STRING, &output, "write to PATH (required)" },
    { 0, "root", "dir", OPT_STRING, &root,
      "look for runs in the store DIR (default: mlruns)" },
    { 's', "set", "section.key=value", OPT_LIST, &sets,
      "change one setting (may be given many times)" },
    { 0 }
};

static int write_model(struct job *j, struct err *e)
{
    const size_t n = (size_t)j->gpt.graph.count;
    float *weights = mem_alloc(n, sizeof *weights, "weights", e);
    int ret;

    if (!weights)
        return -1;
    j->dev.type->get(&j->dev, weights, j->gpt.graph.weights.data,
                     n * sizeof *weights);
    ret = dev_sync(&j->dev, e);
    if (ret == 0)
        ret = writers[format](j, weights, output, e);
    free(weights);
    return ret;
}

static int export_main(int argc, char **argv, struct err *e)
{
    const struct trained_model_conf c = { .word = argc > 0 ? argv[0] : NULL,
                                          .root = root,
                                          .device = "cpu",
                                          .sets = &sets,
                                          .micro_batch = 1 };
    struct settings s = { 0 };
    struct job j = { 0 };
    int ret;

    if (argc > 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[1]);
    if (!output)
        return err_set(e, ERR_USAGE, "use --output PATH to name the output");
    ret = trained_model_open(&c, &s, &j, e);
    if (ret == 0)
        ret = write_model(&j, e);
    if (ret == 0)
        log_info("wrote %s", output);
    job_close(&j);
    settings_clear(&s);
    free(sets.item);
    return ret;
}

const struct cmd cmd_export = {
    .name = "export",
    .args = "[MODEL]",
    .help = "write a trained model in the format of another program",
    .opts = export_opts,
    .run = export_main,
};
