/*
 * gtrain export - write a trained model in the format of another program
 */
#include "config.h"

#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "trainer/convert/convert.h"
#include "trainer/trained_model.h"

/* clang-format off */
static const char *const format_words[] = {
    "hf", "llm.c", "llm.c-bf16", "gguf", "gguf-f16", "gguf-q8_0", "gguf-q4_0",
    NULL
};
/* clang-format on */

static const char *output;
static int format;
static struct trained_model model = { .device = "cpu", .micro_batch = 1 };

static const struct opt export_opts[] = {
    { 'f', "format", "name", OPT_WORD, &format,
      "write this format: %s (default: hf)", format_words },
    { 'o', "output", "path", OPT_STRING, &output, "write to PATH (required)" },
    { 0, "chat", "template", OPT_STRING, &model.chat,
      "carry this template of conversations (default: that of the data)" },
    TRAINED_MODEL_OPTS(model),
    { 0 }
};

static int write_model(struct engine *eng, struct err *e)
{
    const size_t n = (size_t)eng->gpt.graph.count;
    AUTO_FREE float *weights = mem_alloc(n, sizeof *weights, "weights", e);
    convert_write_fn *const writer = format == CONVERT_HF ? convert_write_hf
                                     : format < CONVERT_GGUF
                                         ? convert_write_llmc
                                         : convert_write_gguf;
    int ret;

    if (!weights || trained_model_chat(&model, eng, e) < 0)
        return -1;
    eng->dev.type->get(&eng->dev, weights, eng->gpt.graph.weights.data,
                       n * sizeof *weights);
    ret = dev_sync(&eng->dev, e);
    if (ret == 0)
        ret = writer(eng, weights, (enum convert_format)format, output, e);
    if (ret == 0)
        log_info("wrote %s", output);
    return ret;
}

static int export_main(int argc, char **argv, struct err *e)
{
    if (!output)
        return err_usage(e, "use --output PATH to name the output");
    return trained_model_run(&model, argc, argv, write_model, e);
}

const struct cmd cmd_export = {
    .name = "export",
    .args = "[MODEL]",
    .help = "write a trained model in the format of another program",
    .opts = export_opts,
    .output = &output,
    .run = export_main,
};
