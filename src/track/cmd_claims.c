/*
 * gtrack claims - check a report against the runs
 */
#include "config.h"
#include "track/cmds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "common/save.h"
#include "track/proof/claimed_figures.h"
#include "track/proof/claimed_table.h"
#include "track/proof/claims.h"
#include "track/runs/column.h"
#include "track/runs/column_parse.h"
#include "track/runs/track.h"

static bool fill;
static struct table_style style;

static const struct opt claims_opts[] = {
    TRACK_OPT_ROOT,
    { 0, "fill", NULL, OPT_FLAG, &fill,
      "write the values of the runs into the files" },
    TABLE_OPTS(style),
    { 0 }
};

enum { FILE_MAX = 64 << 20 };

/* How many claims hold, differ, and cannot be checked; and how many figures. */
struct count {
    int64_t equal, other, unknown;
    int64_t figures, other_figures;
};

/* The text of a value, as the claim wants it. */
static int format_value(struct buf *out, const struct claim *c,
                        const struct column *column, const struct run_info *run,
                        struct err *e)
{
    const struct table_cell cell = column_cell(column, run);
    const double x = column_cell_number(&cell);
    char text[NUM_TEXT];

    if (cell.type == TABLE_NONE)
        return err_set(e, ERR_MISSING, "%s has no %s", run->name, c->column);
    if (c->format && isnan(x))
        return err_set(e, ERR_USAGE, "%s of %s is not a number", c->column,
                       run->name);
    if (c->format)
        return claims_format(out, c->format, x, e);
    if (cell.type == TABLE_REAL) {
        num_shortest(text, x);
        buf_str(out, text);
    } else {
        table_cell_text(out, &cell, -1);
    }
    return 0;
}

static int find_table(struct claim *c, bool tex, struct err *e)
{
    struct buf text = BUF_INIT;
    const int ret = claimed_table_print(&text, c->command, tex, e);

    if (ret == 0)
        c->now = buf_detach(&text);
    buf_clear(&text);
    return ret;
}

static int find_value(struct claim *c, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct columns columns = COLUMNS_INIT;
    struct buf text = BUF_INIT;
    int ret = track_select_one(&runs, c->run, 0, e);

    if (ret == 0)
        ret = columns_parse(&columns, c->column, &runs, e);
    if (ret == 0 && columns.n != 1)
        ret = err_set(e, ERR_USAGE, "'%s' is not one column", c->column);
    if (ret == 0)
        ret = format_value(&text, c, &columns.item[0], &runs.run[0], e);
    if (ret == 0)
        c->now = buf_detach(&text);
    buf_clear(&text);
    columns_clear(&columns);
    runs_free(&runs);
    return ret;
}

/* A table is too long to be shown: its command stands for it. */
static void add_claim(struct table *t, const char *file, struct claim *c,
                      bool tex, struct count *n)
{
    struct err why = ERR_INIT;
    const bool known =
        (c->command ? find_table(c, tex, &why) : find_value(c, &why)) == 0;
    const bool equal = known && strlen(c->now) == c->len &&
                       memcmp(c->now, c->value, c->len) == 0;

    table_printf(t, "%s:%ld", file, c->line);
    if (c->command) {
        table_none(t);
        table_text(t, "table");
        table_text(t, c->command);
        table_none(t);
    } else {
        table_text(t, c->run);
        table_text(t, c->column);
        table_printf(t, "%.*s", (int)(c->len < 100 ? c->len : 100), c->value);
        table_text(t, c->now);
    }
    table_text(t, equal ? "equal" : known ? "differs" : why.text);
    table_mark(t, equal ? MARK_NONE : MARK_BAD);
    n->equal += equal;
    n->other += known && !equal;
    n->unknown += !known;
}

static int write_claims(const struct claims *c, const char *file, struct err *e)
{
    struct buf text = BUF_INIT;
    struct save s = SAVE_INIT;
    int ret = save_open(&s, file, e);

    claims_write(c, &text);
    if (ret == 0) {
        fwrite(text.s, 1, text.len, s.fp);
        ret = save_commit(&s, e);
    }
    buf_clear(&text);
    return ret;
}

/* Figures of other programs say nothing about runs. */
static int add_figure(struct table *t, const char *file,
                      struct claimed_figure *f, struct count *n, struct err *e)
{
    bool equal;

    if (claimed_figures_verify(f, e) < 0)
        return -1;
    if (strcmp(f->result, "unstamped") == 0)
        return 0;
    equal = strcmp(f->result, "equal") == 0;
    table_printf(t, "%s:%ld", file, f->line);
    table_none(t);
    table_text(t, "figure");
    table_text(t, f->path);
    table_none(t);
    table_text(t, f->result);
    table_mark(t, equal ? MARK_NONE : MARK_BAD);
    n->figures++;
    n->other_figures += !equal;
    return 0;
}

static int check_figures(struct table *t, const char *text, const char *file,
                         struct count *n, struct err *e)
{
    struct claimed_figures f = CLAIMED_FIGURES_INIT;
    int ret = 0;

    claimed_figures_find(&f, text, file);
    for (size_t i = 0; i < f.n && ret == 0; i++)
        ret = add_figure(t, file, &f.item[i], n, e);
    claimed_figures_clear(&f);
    return ret;
}

static int check_file(struct table *t, const char *file, struct count *n,
                      struct err *e)
{
    struct buf text = BUF_INIT;
    struct claims c = CLAIMS_INIT;
    const int64_t before = n->other;
    int ret = buf_read_file(&text, file, FILE_MAX, e);

    if (ret == 0)
        ret = claims_parse(&c, text.s, text.len, file, e);
    for (size_t i = 0; i < c.n && ret == 0; i++)
        add_claim(t, file, &c.item[i], c.tex, n);
    if (ret == 0)
        ret = check_figures(t, text.s, file, n, e);
    if (ret == 0 && fill && n->other > before)
        ret = write_claims(&c, file, e);
    claims_clear(&c);
    buf_clear(&text);
    return ret;
}

/* With --fill, values that differed are right now; figures are not drawn. */
static int judge(const struct count *n, struct err *e)
{
    const int64_t values = n->equal + n->other + n->unknown;
    const int64_t bad = n->unknown + (fill ? 0 : n->other);
    char text[NUM_TEXT], more[NUM_TEXT];

    if (bad > 0)
        return err_set(e, ERR_INPUT, "%lld of %s %s not what the runs say%s",
                       (long long)bad, num_count(text, values, "value"),
                       bad == 1 ? "is" : "are",
                       n->other > 0 && !fill ? "; --fill writes new values"
                                             : "");
    if (n->other_figures > 0)
        return err_set(e, ERR_INPUT,
                       "%lld of %s %s not what the runs say; 'gplot redo' "
                       "draws a figure again",
                       (long long)n->other_figures,
                       num_count(text, n->figures, "figure"),
                       n->other_figures == 1 ? "is" : "are");
    if (fill && n->other > 0)
        log_info("wrote %s", num_count(text, n->other, "value"));
    else if (values == 0 && n->figures == 0)
        log_warn("no values to check; see the command claims in gtrack(1)");
    else if (n->figures == 0)
        log_info("%s as the runs say", num_count(text, values, "value"));
    else
        log_info("%s and %s as the runs say", num_count(text, values, "value"),
                 num_count(more, n->figures, "figure"));
    return 0;
}

static int claims_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.claims/1");
    struct count n = { 0 };
    int ret = 0;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    setenv("GTRACK_ROOT", track_store(), 1); /* for the programs it starts */
    table_columns(&t, "place", "run", "column", "written", "now", "result",
                  NULL);
    for (int i = 0; i < argc && ret == 0; i++)
        ret = check_file(&t, argv[i], &n, e);
    if (table_rows(&t) > 0 && ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret < 0 ? -1 : judge(&n, e);
}

const struct cmd cmd_claims = {
    .name = "claims",
    .args = "FILE...",
    .help = "check the numbers and figures of a report against the runs",
    .opts = claims_opts,
    .run = claims_main,
};
