/*
 * claims_check - compare the numbers and figures of reports with the runs
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "plot/stamp.h"
#include "store/query/differ.h"
#include "track/proof/claims.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

enum { FILE_MAX = 64 << 20 };

/* ---- tables ------------------------------------------------------------ */

static const char *const commands[] = { "ls", "compare", "best", "metrics",
                                        NULL };

enum { WORDS = 64 };

/* The next word of a command, which may stand in quotes of either kind and is
 * cut out of *at; NULL at the end. */
static char *next_word(char **at)
{
    char *from = *at + strspn(*at, " \t\n"), *to = from;
    char quote = '\0';

    if (!*from)
        return NULL;
    for (*at = from; **at && (quote || !strchr(" \t\n", **at)); (*at)++) {
        if (**at == quote)
            quote = '\0';
        else if (!quote && strchr("'\"", **at))
            quote = **at;
        else
            *to++ = **at;
    }
    if (**at)
        (*at)++;
    *to = '\0';
    return from;
}

/* The options that choose what such a table shows. */
static const char *const allowed[] = {
    "columns", "all",       "experiment", "where",     "status",   "since",
    "sort",    "limit",     "group-by",   "baseline",  "by",       "count",
    "min",     "max",       "last",       "from",      "to",       "long",
    "across",  "down",      "paired",     "deleted",   "attempts", "sweep",
    "root",    "documents", "tasks",      "no-header", NULL
};

/* What the command of the claim prints, between two line ends.  It runs in a
 * child process, which gives up the rights that it does not need.  The report
 * may be somebody else's: only commands that print tables are known. */
static int find_table(const struct claims_check *k, struct claim *c, bool tex,
                      struct err *e)
{
    const char *const own[] = { tex ? "--latex" : "--markdown", NULL };
    const struct program_limits limits = { allowed, own };
    char *copy = xstrdup(c->command), *at = copy;
    const char *argv[WORDS + 2] = { k->gtrack->name };
    AUTO(buf_clear) struct buf out = BUF_INIT;
    struct spawn s = { .out = &out,
                       .quiet = true,
                       .max = 1 << 24,
                       .secs = fmax(k->end - clock_mono(), 0.01) };
    int n = 1, ret = -1;

    while (n <= WORDS && (argv[n] = next_word(&at)))
        n++;
    if (n == 1 || n > WORDS || opt_find_word(commands, argv[1]) < 0) {
        err_usage(
            e, "a table is that of ls, compare, best or metrics, not of '%s'",
            c->command);
    } else {
        buf_char(&out, '\n');
        ret = program_call(k->gtrack, argv, &limits, &s, e);
    }
    if (ret == 0)
        c->now = buf_detach(&out);
    free(copy);
    return ret;
}

/* ---- values ------------------------------------------------------------ */

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
        return err_usage(e, "%s of %s is not a number", c->column, run->name);
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

/* The cell that a table of groups has. */
static int format_mean(struct buf *out, const struct claim *c, bool tex,
                       const struct columns *columns, const struct runs *runs,
                       struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrack.claims-mean/1");
    int ret = columns_fill_groups(&t, runs, NULL, columns, e);
    const struct table_cell *x = runs->n > 1 ? table_cell(&t, 0, 1) : NULL;

    if (c->format)
        ret = err_usage(e, "a mean has no format");
    else if (!x || x->i < 2)
        ret =
            err_set(e, ERR_MISSING, "fewer than two runs have a %s", c->column);
    else
        (tex ? table_cell_latex : table_cell_text)(out, x, -1);
    return ret;
}

/* The values of a parameter that was changed when the run was resumed; or the
 * parameters but seeds in which the runs of a mean differ. */
static char *find_changes(const struct column *column, const struct runs *runs)
{
    struct buf b = BUF_INIT, values = BUF_INIT;
    AUTO(differ_clear) struct differ d = { 0 };

    if (runs->n > 1)
        differ_params(&d, runs->run, runs->n);
    else if (column->kind == COLUMN_PARAM &&
             changed_text(&values, &runs->run[0], column->key))
        buf_printf(&b, "; the run had %s", values.s);
    for (size_t i = 0; i < d.n; i++)
        if (d.item[i].differs && !str_ends(d.item[i].key, "seed"))
            buf_printf(&b, "%s%s", b.len ? ", " : "; the runs differ in ",
                       d.item[i].key);
    buf_clear(&values);
    return buf_detach(&b);
}

/* Once for claims that follow each other. */
static void tell_left_out(struct claims_check *k, const struct runs *runs)
{
    const char *experiment = runs->run[0].experiment_id;

    if (strcmp(k->told, experiment) != 0)
        track_tell_left_out(runs);
    snprintf(k->told, sizeof k->told, "%s", experiment);
}

static int find_value(struct claims_check *k, struct claim *c, bool tex,
                      struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO(columns_clear) struct columns columns = { 0 };
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int ret = c->mean ? track_load(&runs, 1, &c->run, 0, e)
                      : track_select_one(&runs, c->run, 0, e);

    differ_drop_sweeps(&runs, &c->run, 1);
    if (ret == 0)
        ret = columns_parse(&columns, c->column, &runs, e);
    if (ret == 0 && columns.n != 1)
        ret = err_usage(e, "'%s' is not one column", c->column);
    if (ret == 0)
        ret = c->mean
                  ? format_mean(&text, c, tex, &columns, &runs, e)
                  : format_value(&text, c, &columns.item[0], &runs.run[0], e);
    if (ret == 0) {
        c->now = buf_detach(&text);
        c->changes = find_changes(&columns.item[0], &runs);
        /* a metric of a run of gtrain that is not computed again */
        for (size_t i = 0; i < runs.n; i++)
            c->unproved |=
                columns.item[0].kind == COLUMN_METRIC &&
                run_info_param(&runs.run[i], "derived.device") &&
                !run_info_is_provable(&runs.run[i], columns.item[0].key);
        tell_left_out(k, &runs);
    }
    return ret;
}

/* Begin the row of what is of no run, which the result ends. */
static void begin_row(struct table *t, const char *file, long line,
                      const char *kind, const char *what)
{
    table_printf(t, "%s:%ld", file, line);
    table_none(t);
    table_text(t, kind);
    table_text(t, what);
    table_none(t);
}

/* A table is too long to be shown: its command stands for it. */
static void add_claim(struct claims_check *k, const char *file, struct claim *c,
                      bool tex)
{
    struct table *t = &k->table;
    struct err why = { 0 };
    const bool known = (c->command ? find_table(k, c, tex, &why)
                                   : find_value(k, c, tex, &why)) == 0;
    const bool equal = known && strlen(c->now) == c->len &&
                       memcmp(c->now, c->value, c->len) == 0;
    const char *changes = c->changes ? c->changes : "";

    if (c->command) {
        begin_row(t, file, c->line, "table", c->command);
    } else {
        table_printf(t, "%s:%ld", file, c->line);
        table_text(t, c->run);
        table_text(t, c->column);
        table_printf(t, "%.*s", (int)(c->len < 100 ? c->len : 100), c->value);
        table_text(t, c->now);
    }
    table_printf(t, "%s%s%s",
                 equal   ? "equal"
                 : known ? "differs"
                         : why.text,
                 c->unproved ? ", not proved" : "", changes);
    table_mark(t, !equal                    ? MARK_BAD
                  : *changes || c->unproved ? MARK_WARN
                                            : MARK_NONE);
    k->unproved += c->unproved;
    k->equal += equal;
    k->other += known && !equal;
    k->unknown += !known;
}

/* ---- figures ----------------------------------------------------------- */

/* The text before a path, the text that ends it, and what LaTeX may add. */
static const struct form {
    const char *begin, *open, *close;
    const char *ends[4];
    bool tex;
} forms[] = {
    { "\\includegraphics", "{", "}", { ".pdf", ".png", ".eps" }, true },
    { "\\input", "{", "}", { ".tex" }, true },
    { "![", "](", ")", { NULL }, false },
};

enum { FORMS = sizeof forms / sizeof forms[0] };

static char *join_file(const char *folder, const char *name, const char *end)
{
    char *path = *name == '/' ? xasprintf("%s%s", name, end)
                              : xasprintf("%s/%s%s", folder, name, end);

    if (path_exists(path) && !path_is_folder(path))
        return path;
    free(path);
    return NULL;
}

/* The path of the file that a report names, relative to its own folder; NULL if
 * there is none. */
static char *find_file(const char *report, const char *name,
                       const struct form *form)
{
    AUTO_FREE char *folder = path_parent(report);
    char *path = join_file(folder, name, "");

    for (int i = 0; form->ends[i] && !path; i++)
        path = join_file(folder, name, form->ends[i]);
    return path;
}

/* Figures of other programs say nothing about runs. */
static void add_figure(struct claims_check *k, const char *file, long line,
                       const char *path)
{
    AUTO(buf_clear) struct buf command = BUF_INIT;
    struct err why = { 0 };
    enum stamped result =
        stamped_check(path, k->end - clock_mono(), &command, &why);

    if (result == STAMPED_UNKNOWN && k->files && chdir(k->files) == 0) {
        result = stamped_check(path, k->end - clock_mono(), &command, &why);
        if (chdir("..") < 0)
            result = STAMPED_UNKNOWN;
    }
    if (result == STAMPED_NONE)
        return;
    begin_row(&k->table, file, line, "figure", path);
    stamped_add(&k->table, result, &why);
    k->figures++;
    k->other_figures += result != STAMPED_EQUAL;
}

/* A file that the report includes, and that was not found. */
static void add_missing(struct claims_check *k, const char *file, long line,
                        const char *name)
{
    const bool is_macro = strpbrk(name, "#\\") != NULL;
    const bool is_known = !is_macro && !k->elsewhere;
    struct table *t = &k->table;

    if (strstr(name, "://"))
        return;
    begin_row(t, file, line, "figure", name);
    table_text(t, is_known   ? "is missing"
                  : is_macro ? "is named by a macro, and was not checked"
                             : "is elsewhere, and was not checked");
    table_mark(t, is_known ? MARK_BAD : MARK_WARN);
    k->missing += is_known;
}

static void add_figures(struct claims_check *k, const char *report, long line,
                        const char *text, const struct form *form)
{
    const char *at = text;

    while (!sig_caught() && (at = strstr(at, form->begin))) {
        const char *open = strstr(at, form->open);
        const char *name = open ? open + strlen(form->open) : NULL;
        const char *close = name ? strstr(name, form->close) : NULL;
        AUTO_FREE char *word = NULL, *path = NULL;

        if (!close)
            return;
        word = xstrndup(name, (size_t)(close - name));
        path = find_file(report, word, form);
        if (path)
            add_figure(k, report, line, path);
        else
            add_missing(k, report, line, word);
        at = close;
    }
}

/* End a line of LaTeX where its comment begins. */
static void cut_comment(char *line)
{
    for (char *s = line; (s = strchr(s, '%')); s++)
        if (s == line || s[-1] != '\\') {
            *s = '\0';
            return;
        }
}

static void check_figures(struct claims_check *k, const char *file,
                          const char *text)
{
    const bool tex = str_ends(file, ".tex");
    char *copy = xstrdup(text), *at = copy, *line;

    k->elsewhere = tex && strstr(text, "\\graphicspath");
    for (long n = 1; !sig_caught() && (line = strsep(&at, "\n")); n++) {
        if (tex)
            cut_comment(line);
        for (int i = 0; i < FORMS; i++)
            if (forms[i].tex == tex)
                add_figures(k, file, n, line, &forms[i]);
    }
    free(copy);
}

/* ---- reports ----------------------------------------------------------- */

void claims_check_init(struct claims_check *k, const struct program *gtrack)
{
    *k = (struct claims_check){ .gtrack = gtrack,
                                .end = clock_mono() + STAMPED_SECS,
                                .table = TABLE_INIT("gtrack.claims/1") };
    table_columns(&k->table, "place", "run", "column", "written", "now",
                  "result", NULL);
}

static void add_unbound(struct claims_check *k, const char *file,
                        const struct claims_number *n)
{
    AUTO_FREE char *number = xstrndup(n->at, n->len);

    begin_row(&k->table, file, n->line, "-", number);
    table_text(&k->table, "is bound to no run");
    table_mark(&k->table, MARK_WARN);
}

int claims_check_text(struct claims_check *k, const char *file,
                      const struct buf *text, struct buf *now, struct err *e)
{
    AUTO(claims_clear) struct claims c = { 0 };
    int ret = claims_parse(&c, text->s, text->len, file, e);

    for (size_t i = 0; i < c.n && ret == 0 && !sig_caught(); i++)
        add_claim(k, file, &c.item[i], c.tex);
    for (size_t i = 0; k->unbound && i < c.n_numbers && ret == 0; i++)
        add_unbound(k, file, &c.number[i]);
    if (ret == 0)
        check_figures(k, file, text->s);
    if (ret == 0 && sig_caught())
        ret = err_set(e, ERR_INTERRUPTED, "%s: interrupted", file);
    if (ret == 0)
        claims_write(&c, now);
    return ret;
}

int claims_check_file(struct claims_check *k, const char *file, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT, now = BUF_INIT;
    const int64_t before = k->other;
    int ret = buf_read_file(&text, file, FILE_MAX, e);

    if (ret == 0)
        ret = claims_check_text(k, file, &text, &now, e);
    if (ret == 0 && k->fill && k->other > before)
        ret = save_bytes(file, now.s, now.len, e);
    return ret;
}

/* With fill, values that differed are right now; figures are not drawn. */
int claims_check_judge(const struct claims_check *k, struct buf *out,
                       struct err *e)
{
    const int64_t values = k->equal + k->other + k->unknown;
    const int64_t bad = k->unknown + (k->fill ? 0 : k->other);
    char text[NUM_TEXT], more[NUM_TEXT];

    if (bad > 0)
        return err_input(
            e, "%lld of %s %s not what the runs say%s", (long long)bad,
            num_count(text, values, "value"), bad == 1 ? "is" : "are",
            k->other > 0 && !k->fill ? "; --fill writes new values" : "");
    if (k->other_figures > 0)
        return err_input(e,
                         "%lld of %s %s not what the runs say; 'gplot redo' "
                         "draws a figure again",
                         (long long)k->other_figures,
                         num_count(text, k->figures, "figure"),
                         k->other_figures == 1 ? "is" : "are");
    if (k->missing > 0)
        return err_input(e, "%s that the report includes %s missing",
                         num_count(text, k->missing, "file"),
                         k->missing == 1 ? "is" : "are");
    num_count(text, k->fill && k->other > 0 ? k->other : values, "value");
    if (k->fill && k->other > 0)
        buf_printf(out, "wrote %s", text);
    else if (values == 0 && k->figures == 0)
        buf_str(out, "no values to check; see the command claims in gtrack(1)");
    else if (k->figures == 0)
        buf_printf(out, "%s as the runs say", text);
    else
        buf_printf(out, "%s and %s as the runs say", text,
                   num_count(more, k->figures, "figure"));
    if (k->unproved > 0)
        buf_printf(out, "; %lld of metrics that gtrain replay does not compute",
                   (long long)k->unproved);
    return 0;
}
