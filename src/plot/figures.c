#include "config.h"
#include "plot/figures.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/confine.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/sig.h"
#include "store/query/differ.h"
#include "store/read/index.h"

/* Warn of runs that are in no group and therefore left out. */
static int check_group(const struct runs *runs, const char *param,
                       struct err *e)
{
    AUTO(buf_clear) struct buf names = BUF_INIT;
    size_t without = 0;

    for (size_t i = 0; i < runs->n; i++) {
        if (run_set_value(&runs->run[i], param))
            continue;
        if (++without <= 3)
            buf_printf(&names, "%s%s", without > 1 ? ", " : "",
                       runs->run[i].name);
    }
    if (without > 3)
        buf_printf(&names, " and %zu others", without - 3);
    if (without > 0 && without < runs->n)
        log_warn("left out, without a parameter %s: %s", param, names.s);
    return without < runs->n
               ? 0
               : err_set(e, ERR_MISSING,
                         "none of these runs has a parameter %s", param);
}

/* "2 failed, 1 running" of some runs; returns how many have not finished. */
static size_t list_unfinished(struct buf *b, const struct run_info *run,
                              size_t n)
{
    size_t all = 0;

    for (enum run_status s = RUN_RUNNING; s <= RUN_STALE; s++) {
        const char *word = run_status_word(s);
        size_t found = 0;

        for (size_t i = 0; i < n && s != RUN_FINISHED; i++)
            found += run[i].status == s;
        if (!found)
            continue;
        buf_printf(b, "%s%zu ", all ? ", " : "", found);
        for (; *word; word++)
            buf_char(b, (char)tolower((unsigned char)*word));
        all += found;
    }
    return all;
}

size_t figure_keep_finished(struct build *b, struct run_info *run, size_t n)
{
    AUTO(buf_clear) struct buf why = BUF_INIT;
    const size_t left = list_unfinished(&why, run, n);
    size_t kept = 0;

    if (left && b->request->finished)
        figure_note(b->figure, "Left out, not finished: %zu of %zu runs (%s).",
                    left, n, why.s);
    for (size_t i = 0; i < n; i++)
        if (!b->request->finished || run[i].status == RUN_FINISHED)
            run[kept++] = run[i];
    return kept;
}

void figure_note_unfinished(struct figure *f, const struct run_info *run,
                            size_t n)
{
    AUTO(buf_clear) struct buf why = BUF_INIT;
    const size_t all = list_unfinished(&why, run, n);

    if (all)
        figure_note(f, "Counted, but not finished: %zu of %zu runs (%s).", all,
                    n, why.s);
}

int figure_alias(struct run_set *set, const char *item, struct err *e)
{
    const char *text = strchr(item, '=');
    const bool colour = text && text > item && text[-1] == '#';
    const size_t n = text ? (size_t)(text - item) - colour : 0;
    int64_t slot = 1;
    int found = 0;

    if (!text || (colour && (!num_int(text + 1, &slot) || slot < 1 ||
                             slot > PALETTE_COLOURS)))
        return err_usage(e,
                         "an alias is RUN=TEXT, or RUN#=COLOUR from 1 to %d, "
                         "not '%s'",
                         PALETTE_COLOURS, item);
    for (size_t k = 0; k < set->n; k++) {
        if (strncmp(set->run[k].name, item, n) != 0 || set->run[k].name[n])
            continue;
        if (colour)
            set->slot[k] = (int)slot - 1;
        else
            set->shown[k] = text + 1;
        found++;
    }
    return found;
}

static int take_aliases(struct build *b, struct err *e)
{
    const struct opt_list *l = &b->request->alias;

    for (size_t i = 0; i < l->n; i++) {
        const int found = figure_alias(&b->set, l->item[i], e);

        if (found <= 0)
            return found < 0 ? -1
                             : err_set(e, ERR_MISSING,
                                       "--alias %s: the figure has no such run",
                                       l->item[i]);
    }
    return 0;
}

int figure_runs(struct build *b, int first, struct err *e)
{
    const struct request *r = b->request;
    struct runs *runs = &b->runs;
    char **words = b->words + first;
    const int n = b->n - first, flags = r->follow_links ? LOAD_LINKS : 0;

    if ((n > 0 ? runs_select(runs, r->root, words, n, flags, e)
               : runs_load(runs, r->root, flags, e)) < 0)
        return -1;
    if (r->sweep && runs_keep_sweep(runs, r->root, r->sweep, flags, e) < 0)
        return -1;
    differ_drop_sweeps(runs, words, n);
    if (n > 1) /* the legend has the order of the command line */
        runs_sort_as_named(runs, words, n);
    if (runs->n == 0)
        return err_set(e, ERR_MISSING, "there are no runs in %s", r->root);
    runs->n = figure_keep_finished(b, runs->run, runs->n);
    if (runs->n == 0)
        return err_set(e, ERR_MISSING, "none of these runs has finished");
    run_set_init(&b->set, runs->run, runs->n, &runs->mem);
    if (take_aliases(b, e) < 0)
        return -1;
    if (r->color_by &&
        run_set_colour_by(&b->set, r->color_by, &runs->mem, e) < 0)
        return -1;
    return r->group_by ? check_group(runs, r->group_by, e) : 0;
}

int figure_store(struct build *b, struct err *e)
{
    const struct request *r = b->request;
    const int flags = r->follow_links ? LOAD_LINKS : 0;

    return b->store.n > 0 ? 0 : runs_load(&b->store, r->root, flags, e);
}

int figure_check(const struct request *r, struct panel *const *panel, size_t n,
                 struct err *e)
{
    const bool skip = r->skip > 0, cut = r->xrange;

    for (size_t i = 0; i < n; i++)
        if (panel_shows(panel[i]))
            return 0;
    return skip || cut ? err_set(e, ERR_MISSING, "%s nothing to draw",
                                 !skip  ? "--xrange leaves"
                                 : !cut ? "--skip leaves"
                                        : "--skip and --xrange leave")
                       : 0;
}

/* A value and its step, if there is one. */
static void two_cells(struct table *t, enum unit unit, const double *y,
                      const int64_t *step, size_t at, size_t n)
{
    char text[32];

    if (at >= n) {
        table_none(t);
        table_none(t);
        return;
    }
    table_text(t, axis_value(text, unit, y[at]));
    table_int(t, step[at]);
}

void figure_summary_add(struct table *t, const char *run, const char *metric,
                        enum unit unit, const double *y, const int64_t *step,
                        size_t n)
{
    size_t low = n, high = n;
    int64_t bad = 0;

    if (!t->n_columns)
        table_columns(t, "run", "metric", "points", "min", "min at", "max",
                      "max at", "last", "last at", "not finite", NULL);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(y[i])) {
            bad++;
            continue;
        }
        if (low == n || y[i] < y[low])
            low = i;
        if (high == n || y[i] > y[high])
            high = i;
    }
    table_text(t, run);
    table_text(t, metric);
    table_int(t, (int64_t)n);
    two_cells(t, unit, y, step, low, n);
    two_cells(t, unit, y, step, high, n);
    two_cells(t, unit, y, step, n ? n - 1 : 0, n);
    table_int_or_none(t, bad ? bad : -1);
}

static int draw_once(int argc, char **argv, bool *running, struct err *e)
{
    const struct figure_type *type = program_command()->arg;
    AUTO(figure_free) struct figure f = FIGURE_INIT;
    AUTO(table_clear) struct table summary = TABLE_INIT("gplot.summary/1");
    struct build b = { .figure = &f,
                       .summary = &summary,
                       .request = &plot_request,
                       .words = argv,
                       .n = argc };
    int ret;

    request_look(&plot_request, &f);
    ret = type->build(&b, e);
    *running = false;
    for (size_t i = 0; i < b.runs.n; i++)
        *running |= b.runs.run[i].status == RUN_RUNNING;
    if (ret == 0)
        ret = figure_check(&plot_request, f.panel, f.n_panels, e);
    if (ret == 0)
        ret = output_figure(&f, &summary, &plot_request, e);
    runs_free(&b.runs);
    runs_free(&b.store);
    return ret;
}

void figure_confine(const char *const *file, int n, const char *into)
{
    AUTO(path_list_clear) struct path_list folders = { 0 };

    for (int i = 0; i < n; i++) {
        path_list_add(&folders, into ? xstrdup(into) : path_of_output(file[i]));
        if (file[i] && str_ends(file[i], ".eps")) /* Cairo uses a file there */
            path_list_add(&folders, xstrdup(P_tmpdir));
    }
    path_list_add(&folders, index_folder(""));
    path_list_add(&folders, path_cache("fontconfig", NULL));
    confine((const char *const *)folders.name, folders.n, false);
}

int figure_main(int argc, char **argv, struct err *e)
{
    const struct cmd *cmd = program_command();
    const struct figure_type *type = cmd->arg;
    const bool screen = !plot_request.output && isatty(STDOUT_FILENO);
    bool running = false;

    if (request_parse(&plot_request, e) < 0 ||
        output_check(&plot_request, e) < 0)
        return -1;
    if (argc < type->words - (type->runs && plot_request.sweep))
        return err_usage(e, "%s expected: gplot %s %s", type->expect, cmd->name,
                         cmd->args);
    figure_confine((const char *[]){ plot_request.output, plot_request.script },
                   2, NULL);
    if (!plot_request.watch)
        return draw_once(argc, argv, &running, e);
    sig_watch();
    do {
        if (screen)
            printf("\033[H\033[2J");
        if (draw_once(argc, argv, &running, e) < 0) {
            if (e->kind != ERR_MISSING || !running)
                return -1;
            /* the run may still write the metrics that are missing */
            log_warn("%s", e->text);
            *e = (struct err){ 0 };
        }
        fflush(stdout);
        if (running)
            clock_pause(plot_request.every);
    } while (running && !sig_caught());
    return 0;
}
