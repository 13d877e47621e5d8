/* cmd_convert - gtrain import and export: files of other programs */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "trainer/cmds.h"
#include "trainer/convert/convert.h"
#include "trainer/training/checkpoint_files.h"

static const char *format = "hf", *output, *root, *tokenizer;
static struct opt_list sets;

static const struct opt export_opts[] = {
    { 'f', "format", "name", OPT_STRING, &format,
      "hf (Hugging Face), llm.c or gguf; hf" },
    { 'o', "output", "path", OPT_STRING, &output, "write to PATH" },
    { 0, "root", "dir", OPT_STRING, &root, "look for runs in DIR" },
    { 's', "set", "section.key=value", OPT_LIST, &sets, "change a setting" },
    { 0 }
};

static const struct opt import_opts[] = {
    { 'f', "format", "name", OPT_STRING, &format,
      "hf (Hugging Face) or llm.c; hf" },
    { 'o', "output", "folder", OPT_STRING, &output,
      "write the checkpoint to FOLDER" },
    { 't', "tokenizer", "path", OPT_STRING, &tokenizer,
      "the tokenizer it goes with" },
    { 0 }
};

static const struct {
    const char *name;
    int (*write)(const struct job *, const float *, const char *, struct err *);
    int (*settings)(const char *, struct buf *, struct err *);
    int (*read)(const struct job *, float *, const char *, struct err *);
} formats[] = {
    { "hf", convert_write_hf, convert_settings_hf, convert_read_hf },
    { "llm.c", convert_write_llmc, convert_settings_llmc, convert_read_llmc },
    { "gguf", convert_write_gguf, NULL, NULL },
};

static int find_format(struct err *e)
{
    for (int i = 0; i < (int)(sizeof formats / sizeof formats[0]); i++)
        if (strcmp(formats[i].name, format) == 0)
            return i;
    return err_set(e, ERR_USAGE, "no format '%s'; there are hf, llm.c and gguf",
                   format);
}

static float *host_block(const struct job *j, struct err *e)
{
    return mem_alloc((size_t)j->gpt.graph.count, sizeof(float), "weights", e);
}

/* ---- export ----------------------------------------------------------- */

static int export_main(int argc, char **argv, struct err *e)
{
    const struct model_word w = { .word = argc > 0 ? argv[0] : NULL,
                                  .root = root,
                                  .device = "cpu",
                                  .sets = &sets,
                                  .micro_batch = 1 };
    const int f = find_format(e);
    struct settings s = { 0 };
    struct job j = { 0 };
    float *host = NULL;
    int ret = -1;

    if (f < 0)
        return -1;
    if (argc > 1 || !output)
        return err_set(e, ERR_USAGE, "export takes one model and --output");
    if (cmd_open_model(&j, &s, &w, e) == 0 && (host = host_block(&j, e))) {
        j.dev.type->get(&j.dev, host, j.gpt.graph.weights.data,
                        (size_t)j.gpt.graph.count * sizeof *host);
        ret = dev_sync(&j.dev, e);
        if (ret == 0)
            ret = formats[f].write(&j, host, output, e);
        if (ret == 0)
            log_info("%s is written", output);
    }
    free(host);
    job_close(&j);
    settings_clear(&s);
    free(sets.item);
    return ret;
}

/* ---- import ----------------------------------------------------------- */

/* Settings out of lines of "key=value". */
static int load_lines(struct settings *s, struct buf *lines, struct err *e)
{
    char *line = lines->s;

    if (settings_load(s, NULL, NULL, 0, e) < 0)
        return -1;
    while (*line) {
        char *end = line + strcspn(line, "\n");

        *end = '\0';
        if (conf_set(&s->conf, line, e) < 0)
            return -1;
        line = end + 1;
    }
    if (tokenizer &&
        conf_put(&s->conf, "data.tokenizer", tokenizer, "--tokenizer", e) < 0)
        return -1;
    if (conf_put(&s->conf, "train.device", "cpu", "here", e) < 0)
        return -1;
    return conf_put(&s->conf, "train.micro_batch", "1", "here", e);
}

static int import_main(int argc, char **argv, struct err *e)
{
    const int f = find_format(e);
    struct buf lines = BUF_INIT;
    struct settings s = { 0 };
    struct snapshot snap = { 0 };
    struct job j = { 0 };
    char n[NUM_TEXT];
    float *host = NULL;
    int ret;

    if (f < 0)
        return -1;
    if (argc != 1 || !output)
        return err_set(e, ERR_USAGE, "import takes a model and --output");
    if (!formats[f].read)
        return err_set(e, ERR_USAGE, "%s is only written", format);
    if (path_exists(output))
        return err_set(e, ERR_USAGE, "%s is there already", output);
    ret = formats[f].settings(argv[0], &lines, e);
    if (ret == 0)
        ret = load_lines(&s, &lines, e);
    if (ret == 0)
        ret = job_open(&j, &s, JOB_INFER, e);
    if (ret == 0)
        ret = (host = host_block(&j, e)) ? 0 : -1;
    if (ret == 0) {
        memset(host, 0, (size_t)j.gpt.graph.count * sizeof *host);
        ret = formats[f].read(&j, host, argv[0], e);
    }
    if (ret == 0) {
        j.dev.type->put(&j.dev, j.gpt.graph.weights.data, host,
                        (size_t)j.gpt.graph.count * sizeof *host);
        ret = snapshot_take(&snap, &j, "", e);
    }
    if (ret == 0)
        ret = checkpoint_write(&snap, output, e);
    if (ret == 0)
        log_info("%s: %s parameters", output, num_comma(n, s.is.parameters));
    snapshot_clear(&snap);
    free(host);
    buf_clear(&lines);
    job_close(&j);
    settings_clear(&s);
    return ret;
}

const struct cmd cmd_export = {
    .name = "export",
    .args = "[MODEL]",
    .help = "write a model for other programs",
    .opts = export_opts,
    .run = export_main,
};

const struct cmd cmd_import = {
    .name = "import",
    .args = "MODEL",
    .help = "read a model of other programs",
    .opts = import_opts,
    .run = import_main,
};
