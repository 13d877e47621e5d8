/*
 * gdata gather - collect the text on this machine, for a first model
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/confine.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/save.h"
#include "common/output/emit.h"
#include "common/output/table.h"
#include "data/corpus/corpus.h"
#include "data/corpus/gather.h"

static const char *folder, *root = "/";
static uint64_t size = 16 << 20;
static double val = 0.05;
static struct table_style style;

static const struct opt gather_opts[] = {
    { 'o', "output", "folder", OPT_STRING, &folder,
      "write train.jsonl and val.jsonl to FOLDER" },
    { 's', "size", "bytes", OPT_SIZE, &size,
      "stop at about this much text (default: 16MiB)" },
    { 0, "val", "share", OPT_REAL, &val,
      "hold out SHARE of the documents (default: 0.05)" },
    { 0, "root", "dir", OPT_STRING, &root,
      "look for files below DIR (default: /)" },
    TABLE_OPTS(style),
    { 0 }
};

struct gather_output {
    struct save train, val;
    struct buf line;
    int64_t held_out;
};

static void write_doc(void *arg, const struct gathered *g)
{
    const struct corpus_doc doc = { .text = g->text,
                                    .len = g->len,
                                    .begins = true };
    struct gather_output *out = arg;
    struct emit o = { .b = &out->line };
    const bool held_out = corpus_doc_in_share(&doc, val);

    emit_object(&o, NULL);
    emit_bytes(&o, "text", g->text, g->len);
    emit_text(&o, "source", g->path);
    emit_object_end(&o);
    emit_newline(&o);
    fwrite(out->line.s, 1, out->line.len,
           held_out ? out->val.fp : out->train.fp);
    buf_trim(&out->line, 0);
    if (held_out)
        out->held_out += (int64_t)g->len;
}

static int print_stats(const struct gather_stats *s, struct err *e)
{
    struct table t = TABLE_INIT("gdata.gather/1");

    table_columns(&t, "kind", "files", "documents", "text", "repeated", NULL);
    for (int i = 0; i < GATHER_KINDS; i++) {
        table_text(&t, s[i].kind);
        table_int(&t, s[i].files);
        table_int(&t, s[i].documents);
        table_bytes(&t, s[i].bytes);
        table_bytes(&t, s[i].repeated);
    }
    return table_finish(&t, 0, &style, e);
}

static int open_outputs(struct gather_output *out, struct err *e)
{
    char *train = path_join(folder, "train.jsonl");
    char *held = path_join(folder, "val.jsonl");
    int ret = save_open(&out->train, train, e);

    if (ret == 0)
        ret = save_open(&out->val, held, e);
    free(train);
    free(held);
    return ret;
}

static int gather_main(int argc, char **argv, struct err *e)
{
    struct gather_output out = { { 0 }, { 0 }, BUF_INIT, 0 };
    struct gather_stats stats[GATHER_KINDS];
    char text[NUM_TEXT], held[NUM_TEXT];
    int64_t total = 0;
    int ret = -1;

    if (argc)
        return err_set(e, ERR_USAGE,
                       "unexpected argument '%s'; name the output with -o "
                       "FOLDER",
                       argv[0]);
    if (!folder)
        return err_set(e, ERR_USAGE, "name the output with -o FOLDER");
    if (val < 0 || val >= 1)
        return err_set(e, ERR_USAGE, "--val expects a share below 1, not %g",
                       val);
    if (path_make(folder, e) < 0 || open_outputs(&out, e) < 0)
        goto out;
    confine(&folder, 1, false);
    if (gather(root, (int64_t)size, write_doc, &out, stats, e) < 0)
        goto out;
    if (save_commit(&out.train, e) < 0 || save_commit(&out.val, e) < 0)
        goto out;
    for (int i = 0; i < GATHER_KINDS; i++)
        total += stats[i].bytes;
    if (print_stats(stats, e) < 0)
        goto out;
    log_info("%s of text in %s/train.jsonl, %s in %s/val.jsonl",
             num_bytes(text, (double)(total - out.held_out)), folder,
             num_bytes(held, (double)out.held_out), folder);
    ret = 0;

out:
    save_abandon(&out.train);
    save_abandon(&out.val);
    buf_clear(&out.line);
    return ret;
}

const struct cmd cmd_gather = {
    .name = "gather",
    .args = "-o FOLDER",
    .help = "collect the text on this machine",
    .opts = gather_opts,
    .run = gather_main,
};
