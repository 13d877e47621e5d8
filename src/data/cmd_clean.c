/*
 * gdata clean - keep the documents that are worth training on
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/confine.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/emit.h"
#include "common/output/table.h"
#include "data/corpus/clean.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_writer.h"
#include "data/corpus/source/download.h"

static const char *rules, *output = "-";
static struct corpus_opts input = CORPUS_OPTS_INIT;
static double keep_dropped;
static struct table_style style;

static const struct opt clean_opts[] = {
    { 'r', "rules", "file", OPT_STRING, &rules,
      "keep documents by the rules in FILE" },
    { 'o', "output", "file", OPT_STRING, &output,
      "write JSON Lines to FILE (default: -, standard output)" },
    { 0, "keep-dropped", "share", OPT_REAL, &keep_dropped,
      "write SHARE of the dropped documents to FILE.dropped",
      .range = { 0, 1 } },
    CORPUS_OPTS(input),
    TABLE_OPTS(style),
    { 0 }
};

struct cleaning {
    struct clean rules;
    struct corpus_writer out, dropped;
    int64_t kept, count[CLEAN_RULES]; /* documents, or lines */
};

/* Write a document after the rule that drops it, and what that compares. */
static int write_dropped(struct corpus_writer *w, const struct corpus_doc *d,
                         int rule, double value)
{
    struct buf line = BUF_INIT;
    struct emit o = { .b = &line };
    int ret;

    emit_object(&o, NULL);
    emit_text(&o, "rule", clean_name[rule]);
    emit_real(&o, "value", value);
    if (d->whole) {
        buf_char(&line, ',');
        buf_add(&line, d->whole + 1, d->whole_len - 1);
    } else {
        emit_bytes(&o, "text", d->text, d->len);
        emit_object_end(&o);
    }
    ret = corpus_write(
        w, &(struct corpus_doc){ .whole = line.s, .whole_len = line.len }, NULL,
        0);
    buf_clear(&line);
    return ret;
}

static int clean_doc(void *arg, const struct corpus_doc *d, struct err *e)
{
    struct cleaning *c = arg;
    const char *text = d->text;
    size_t n = d->len;
    double value;
    const int rule = clean_test(&c->rules, &text, &n, &value, c->count);

    (void)e;
    if (rule < 0) {
        c->kept++;
        return corpus_write(&c->out, d, text == d->text ? NULL : text, n);
    }
    return corpus_doc_in_share(d, keep_dropped)
               ? write_dropped(&c->dropped, d, rule, value)
               : 0;
}

static int print_counts(const struct cleaning *c, struct err *e)
{
    struct table t = TABLE_INIT("gdata.clean/1");

    table_columns(&t, "rule", "documents", "lines", NULL);
    for (int i = 0; i < CLEAN_RULES; i++) {
        if (isnan(c->rules.limit[i]))
            continue;
        table_text(&t, clean_name[i]);
        table_int_or_none(&t, clean_is_of_lines(i) ? -1 : c->count[i]);
        table_int_or_none(&t, clean_is_of_lines(i) ? c->count[i] : -1);
    }
    table_text(&t, "kept");
    table_int(&t, c->kept);
    table_none(&t);
    return table_finish(&t, 0, &style, e);
}

static int clean_corpus(struct cleaning *c, struct corpus_conf *conf,
                        struct err *e)
{
    char *path = xasprintf("%s.dropped", output);
    int ret = corpus_writer_open(&c->out, output, conf, e);

    if (ret == 0 && keep_dropped > 0 &&
        corpus_writer_open(&c->dropped, path, conf, e) < 0)
        ret = corpus_writer_close(&c->out, -1, e);
    free(path);
    if (ret < 0)
        return -1;
    ret = corpus_each(conf, clean_doc, c, e);
    if (keep_dropped > 0)
        ret = corpus_writer_close(&c->dropped, ret, e);
    ret = corpus_writer_close(&c->out, ret, e);
    return ret < 0 || strcmp(output, "-") == 0 ? ret : print_counts(c, e);
}

static int clean_main(int argc, char **argv, struct err *e)
{
    struct cleaning c = { 0 };
    struct corpus_conf conf;
    int ret;

    if (!rules)
        return err_set(e, ERR_USAGE, "name the rules with --rules FILE");
    if (keep_dropped > 0 && strcmp(output, "-") == 0)
        return err_set(e, ERR_USAGE, "--keep-dropped needs -o FILE");
    if (corpus_conf_set(&conf, &input, argv, argc, e) < 0 ||
        clean_load(&c.rules, rules, e) < 0)
        return -1;
    confine_output(output, download_any(argv, argc));
    ret = clean_corpus(&c, &conf, e);
    clean_clear(&c.rules);
    return ret;
}

const struct cmd cmd_clean = {
    .name = "clean",
    .args = "--rules FILE PATH...",
    .help = "keep the documents that are worth training on",
    .opts = clean_opts,
    .run = clean_main,
};
