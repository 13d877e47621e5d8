/*
 * gtrack card - a model card of a run, whose values are claims
 */
#include "config.h"

#include <glob.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/save.h"
#include "common/utf8.h"
#include "track/proof/claims.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

static const char *output;

static const struct opt card_opts[] = { TRACK_OPT_ROOT,
                                        { 'o', "output", "file", OPT_STRING,
                                          &output, "write the card to FILE" },
                                        { 0 } };

/* A heading, or the column of a value and its format. */
static const struct line {
    const char *text, *column, *format;
} lines[] = {
    { "Model" },
    { "Parameters", "derived.parameters" },
    { "Recipe", "recipe.name" },
    { "Parent run", "parent" },
    { "Layers", "model.layers" },
    { "Width", "model.width" },
    { "Heads", "model.heads" },
    { "Context in tokens", "model.context" },
    { "Vocabulary", "model.vocab" },
    { "Data" },
    { "Training data", "`data.train`" },
    { "Hash of the training data", "derived.data.train" },
    { "Hash of the validation data", "derived.data.val" },
    { "Hash of the tokenizer", "derived.tokenizer" },
    { "Hash of the teacher", "derived.teacher" },
    { "Training" },
    { "Steps", "steps" },
    { "Tokens", "train/tokens", ".0f" },
    { "Tokens of a step", "derived.tokens_per_step" },
    { "FLOPs of a token", "derived.flops_per_token" },
    { "FLOPs", "train/total_flops", ".4g" },
    { "Optimiser", "optim.name" },
    { "Peak learning rate", "optim.lr" },
    { "Schedule", "schedule.kind" },
    { "Seed", "train.seed" },
    { "Precision", "train.precision" },
    { "Device", "derived.device" },
    { "Processes", "derived.ranks" },
    { "Time", "time" },
    { "FLOPs a second", "perf/flops", ".3g" },
    { "Energy of the GPUs in joules", "system/gpu_energy_j", ".4g" },
    { "Results" },
    { "Training loss", "train/loss", ".4f" },
    { "Validation loss", "val/loss", ".4f" },
    { "Bits per byte", "val/bpb", ".4f" },
};

/* A line of the card, if the run has the value. */
static void add_value(struct buf *b, const struct runs *r,
                      const struct line *line)
{
    AUTO(columns_clear) struct columns c = { 0 };

    if (columns_parse(&c, line->column, r, ERR_IGNORED) == 0 &&
        column_cell(&c.item[0], &r->run[0]).type != TABLE_NONE)
        buf_printf(b, "- %s: <!-- gtrack: %s | %s%s%s --><!-- /gtrack -->\n",
                   line->text, r->run[0].id, line->column,
                   line->format ? " | " : "", line->format ? line->format : "");
}

/* A line that a model wrote: what could begin a claim, or name a figure that
 * `gtrack claims` would look for, is broken by a space. */
static void add_written(struct buf *b, const char *text)
{
    static const char *const begins[] = { "<!--", "\\gtrack{", "![" };
    AUTO(buf_clear) struct buf shown = BUF_INIT;

    utf8_visible(&shown, text);
    for (const char *at = shown.s; *at; at++) {
        buf_char(b, *at);
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
            if (strncmp(at, begins[i], strlen(begins[i])) == 0)
                buf_char(b, ' ');
    }
    buf_char(b, '\n');
}

/* The newest sample, as lines of code. */
static int add_sample(struct buf *b, const struct run_info *run, struct err *e)
{
    AUTO_FREE char *all = xasprintf("%s/samples/step-*.txt", run->artifacts);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    glob_t found;
    int ret = 0;

    if (glob(all, 0, NULL, &found) == 0) {
        ret = buf_read_file(&text, found.gl_pathv[found.gl_pathc - 1], 1 << 20,
                            e);
        buf_str(b, "\n## Sample\n\n");
        for (char *at = text.s, *s; ret == 0 && (s = strsep(&at, "\n"));) {
            buf_str(b, "    ");
            add_written(b, s);
        }
        globfree(&found);
    }
    return ret;
}

static int make_card(struct buf *b, const struct runs *r, struct err *e)
{
    const struct run_info *run = &r->run[0];

    buf_str(b, "---\nlicense: unknown # fill in\nlanguage: # fill in\n"
               "datasets: # fill in\npipeline_tag: text-generation\n"
               "tags:\n- gtrain\n---\n\n# ");
    add_written(b, run->name);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i].column)
            add_value(b, r, &lines[i]);
        else
            buf_printf(b, "\n## %s\n\n", lines[i].text);
    for (size_t i = 0; i < run->n_metrics; i++) {
        const char *key = run->metrics[i].key;

        if (strncmp(key, "task/", 5) == 0 ||
            strncmp(key, "hellaswag/", 10) == 0)
            add_value(b, r, &(struct line){ key, key, ".4f" });
    }
    if (add_sample(b, run, e) < 0)
        return -1;
    buf_printf(b,
               "\n## Proof\n\n    gtrack claims %s\n    gtrain replay %s\n"
               "    gtrack bundle %s -o proof.tar\n    gtrack verify "
               "proof.tar\n",
               path_name(output), run->id, run->id);
    return 0;
}

static int card_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO(buf_clear) struct buf text = BUF_INIT, card = BUF_INIT;
    struct claims_check k;
    int ret;

    if (track_check_args(argc, argv, 1, 1, e) < 0)
        return -1;
    if (!output)
        return err_usage(e, "name the file of the card by -o");
    claims_check_init(&k, &track_program);
    k.fill = true;
    ret = track_select_one(&runs, argv[0], 0, e);
    if (ret == 0)
        ret = make_card(&text, &runs, e);
    if (ret == 0)
        ret = claims_check_text(&k, output, &text, &card, e);
    if (ret == 0)
        ret = save_bytes(output, card.s, card.len, e);
    buf_trim(&text, 0);
    if (ret == 0)
        ret = claims_check_judge(&k, &text, e);
    if (ret == 0)
        log_info("%s: %s", output, text.s);
    table_clear(&k.table);
    return ret;
}

static void confine_card(void)
{
    AUTO_FREE char *folder = output ? path_of_output(output) : NULL;

    track_confine_output(folder);
}

const struct cmd cmd_card = {
    .name = "card",
    .args = "RUN -o FILE",
    .help = "write a model card of a run, bound by claims",
    .opts = card_opts,
    .confine = confine_card,
    .run = card_main,
};
