/*
 * gdata clean - keep the documents that are worth training on
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "common/confine.h"
#include "common/machine/cores.h"
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
static int threads;
static struct table_style style;

static const struct opt clean_opts[] = {
    { 'r', "rules", "file", OPT_STRING, &rules,
      "keep documents by the rules in FILE" },
    { 'o', "output", "file", OPT_STRING, &output,
      "write JSON Lines to FILE (default: -, standard output)" },
    { 0, "keep-dropped", "share", OPT_REAL, &keep_dropped,
      "write SHARE of the dropped documents to FILE.dropped",
      .range = { 0, 1 } },
    { 'j', "threads", "count", OPT_INT, &threads,
      "clean with COUNT threads (default: one per processor)",
      .range = { 0, 1024 } },
    CORPUS_OPTS(input),
    TABLE_OPTS(style),
    { 0 }
};

struct cleaning {
    const struct clean *rules;
    struct corpus_writer out, dropped;
    int64_t kept, count[CLEAN_RULES]; /* documents, or lines */
};

struct clean_worker {
    struct corpus_rewriter base;
    struct clean rules;
    const struct corpus_writer *out;
    int64_t kept, count[CLEAN_RULES];
};

/* Write a document after the rule that drops it, and what that compares. */
static void add_dropped(struct buf *lines, const struct corpus_doc *d, int rule,
                        double value)
{
    struct emit o = { .b = lines };

    emit_object(&o, NULL);
    emit_text(&o, "rule", clean_name[rule]);
    emit_real(&o, "value", value);
    if (d->whole) {
        buf_char(lines, ',');
        buf_add(lines, d->whole + 1, d->whole_len - 1);
    } else {
        emit_bytes(&o, "text", d->text, d->len);
        emit_object_end(&o);
    }
    buf_char(lines, '\n');
}

static int clean_doc(void *arg, const struct corpus_doc *d,
                     struct err *e UNUSED)
{
    struct clean_worker *w = arg;
    struct corpus_doc left = *d;
    double value;
    const int rule = clean_test(&w->rules, &left, &value, w->count);

    w->kept += rule < 0;
    if (rule < 0)
        corpus_writer_line(w->out, &w->base.lines[0], d,
                           left.text == d->text ? NULL : left.text, left.len);
    else if (corpus_doc_in_share(d, keep_dropped))
        add_dropped(&w->base.lines[1], d, rule, value);
    return 0;
}

static int run_threads(struct cleaning *c, const struct corpus_conf *conf,
                       struct err *e)
{
    struct corpus_writer *out[] = { &c->out,
                                    keep_dropped > 0 ? &c->dropped : NULL };
    const int n = threads ? threads : cores_processors();
    AUTO_FREE struct clean_worker *w = xcalloc((size_t)n, sizeof *w);
    int ret;

    for (int i = 0; i < n; i++) {
        w[i].rules = *c->rules;
        w[i].out = &c->out;
    }
    ret = corpus_rewrite(conf, clean_doc, w, sizeof *w, n, out, e);
    for (int i = 0; i < n; i++) {
        c->kept += w[i].kept;
        for (int k = 0; k < CLEAN_RULES; k++)
            c->count[k] += w[i].count[k];
        clean_clear(&w[i].rules);
    }
    return ret;
}

static int print_counts(const struct cleaning *c, struct err *e)
{
    struct table t = TABLE_INIT("gdata.clean/1");

    table_columns(&t, "rule", "documents", "changes", NULL);
    for (int i = 0; i < CLEAN_RULES; i++) {
        if (isnan(c->rules->limit[i]))
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
    AUTO_FREE char *path = xasprintf("%s.dropped", output);
    int ret = corpus_writer_open(&c->out, output, conf, e);

    if (ret == 0 && keep_dropped > 0 &&
        corpus_writer_open(&c->dropped, path, conf, e) < 0)
        ret = corpus_writer_close(&c->out, -1, e);
    if (ret < 0)
        return -1;
    ret = run_threads(c, conf, e);
    if (keep_dropped > 0)
        ret = corpus_writer_close(&c->dropped, ret, e);
    ret = corpus_writer_close(&c->out, ret, e);
    return ret < 0 || strcmp(output, "-") == 0 ? ret : print_counts(c, e);
}

static int clean_main(int argc, char **argv, struct err *e)
{
    AUTO(clean_unload) struct clean loaded = { 0 };
    struct cleaning c = { .rules = &loaded };
    struct corpus_conf conf;

    if (!rules)
        return err_usage(e, "name the rules with --rules FILE");
    if (keep_dropped > 0 && strcmp(output, "-") == 0)
        return err_usage(e, "--keep-dropped needs -o FILE");
    if (corpus_conf_set(&conf, &input, argv, argc, e) < 0)
        return -1;
    confine_output(output, download_any(argv, argc));
    return clean_load(&loaded, rules, e) < 0 ? -1 : clean_corpus(&c, &conf, e);
}

const struct cmd cmd_clean = {
    .name = "clean",
    .args = "--rules FILE PATH...",
    .help = "keep the documents that are worth training on",
    .opts = clean_opts,
    .run = clean_main,
};
