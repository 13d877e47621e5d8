/*
 * fig_dashboard - several panels: a run at a glance, or runs side by side
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "plot/curve_kind.h"
#include "plot/curves.h"
#include "plot/figures.h"
#include "store/format/saved_panels.h"
#include "store/query/differ.h"

static const char *const dashboard[] = { "loss",       "lr",     "grad-norm",
                                         "throughput", "memory", "util",
                                         NULL };
static const char *const comparison[] = { "train", "validation", "lr",
                                          "throughput", NULL };

/* Of "loss", the training or the validation curve by itself. */
static struct curve_kind half_of_loss(const char *name)
{
    struct curve_kind half = *curve_kind_find("loss");
    const bool train = strcmp(name, "train") == 0;

    half.title = train ? "Training loss" : "Validation loss";
    half.line[0] = half.line[train ? 0 : 1];
    memset(&half.line[1], 0, sizeof half.line[1]);
    return half;
}

/* Draw a panel for each figure of which a run has metrics. */
static int draw_panels(struct build *b, const char *const *names, size_t cols,
                       struct err *e)
{
    struct figure *f = b->figure;

    f->shared = true;
    for (; *names; names++) {
        const struct curve_kind *found = curve_kind_find(*names);
        const struct curve_kind k = found ? *found : half_of_loss(*names);
        struct panel *p;

        if (!curve_kind_has_metric(&k, b->set.run, b->set.n)) {
            log_info("nothing to draw for %s", k.cmd.name);
            continue;
        }
        p = figure_panel(f, k.title);
        if (curves_kind(b, p, &k, e) < 0)
            return -1;
    }
    if (f->n_panels == 0) {
        AUTO(buf_clear) struct buf word = BUF_INIT;

        buf_shell_short(&word, b->set.run[0].name);
        return err_set(e, ERR_MISSING,
                       "%s has none of the metrics that are drawn here; "
                       "'gtrack show %s' lists what it has",
                       b->set.run[0].name, word.s);
    }
    fig_arrange(b, cols);
    return 0;
}

void fig_arrange(struct build *b, size_t cols)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;

    if (f->n_panels < 2)
        return;
    f->shared = true;
    f->cols = f->n_panels < cols ? f->n_panels : cols;
    if (f->n_panels == 4) /* two rows of two, not three and one */
        f->cols = 2;
    f->rows = (f->n_panels + f->cols - 1) / f->cols;
    if (!r->size) {
        f->look.width = 245.0 * (double)f->cols;
        f->look.height = 165.0 * (double)f->rows + 20;
        f->look.font_size = r->font_size > 0 ? r->font_size : 8;
    } else if (r->font_size <= 0) {
        /* a panel is about thirty ems wide */
        f->look.font_size = fmin(fmax(r->width / (double)f->cols / 30, 5), 9);
    }
}

int fig_panel_draw(struct build *b, const char *words, struct err *e)
{
    const struct request *all = b->request;
    struct request one = *all;
    char *names = arena_strdup(&b->figure->mem, words + strspn(words, " "));
    char *right = strchr(names, '|');
    const struct curve_kind *k;
    int ret;

    names[strcspn(names, "|!")] = '\0';
    if (right) {
        right[1 + strcspn(right + 1, "!")] = '\0';
        one.y2 = right + 1 + strspn(right + 1, " ");
        b->request = &one;
    }
    for (char *c = names + strlen(names); c > names && c[-1] == ' ';)
        *--c = '\0';
    for (char *c = names; *c; c++) /* "a + b" is an expression */
        *c = *c == '+' && c > names && c[-1] != ' ' ? ',' : *c;
    k = curve_kind_find(names);
    ret = k ? curves_kind(b, figure_panel(b->figure, k->title), k, e)
            : curves_metrics(b, names, e);
    b->request = all;
    return ret;
}

/* The panels of --panels, or those that were saved under "@NAME". */
static const char *find_panels(struct build *b, const char *names,
                               struct err *e)
{
    json_t *all, *found;

    if (*names != '@')
        return names;
    all = saved_panels_load(b->request->root, e);
    if (!all)
        return NULL;
    found = json_object_get(all, names + 1);
    if (json_is_string(found))
        names = arena_strdup(&b->figure->mem, json_string_value(found));
    else
        err_set(e, ERR_MISSING, "no panels are saved as %s in %s", names + 1,
                b->request->root);
    json_decref(all);
    return e->kind ? NULL : names;
}

static int draw_chosen(struct build *b, const char *names, struct err *e)
{
    names = find_panels(b, names, e);
    b->figure->shared = true;
    for (int pass = 0; names && pass < 2; pass++) /* aliases, then panels */
        for (const char *at = names; *at;) {
            const size_t len = strcspn(at, ",");
            const char *words = arena_strndup(&b->figure->mem, at, len);
            const bool alias = strchr(words, '=');

            if (alias != pass && (alias ? figure_alias(&b->set, words, e)
                                        : fig_panel_draw(b, words, e)) < 0)
                return -1;
            at += len + (at[len] == ',');
        }
    if (!names)
        return -1;
    fig_arrange(b, 3);
    return 0;
}

static int build_dashboard(struct build *b, struct err *e)
{
    AUTO(buf_clear) struct buf names = BUF_INIT;

    if (figure_runs(b, 0, e) < 0)
        return -1;
    for (size_t i = 0; i < b->set.n && i < 6; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", b->set.name[i]);
    if (!b->request->title)
        b->figure->title = arena_strdup(&b->figure->mem, names.s);
    return b->request->panels ? draw_chosen(b, b->request->panels, e)
                              : draw_panels(b, dashboard, 3, e);
}

static const struct opt dashboard_opts[] = {
    CURVE_OPTS,
    { 0, "panels", "names", OPT_STRING, &plot_request.panels,
      "draw these figures or metrics side by side, with commas between them" },
    { 0 }
};

const struct cmd fig_dashboard = {
    .name = "dashboard",
    .args = "RUN...",
    .help = "draw several panels of a run",
    .opts = dashboard_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_dashboard, 1, "a run is", true },
};

/* Add to the labels the parameters that tell the runs apart, at most three:
 * "run2: lr 6e-4". */
static void name_by_difference(struct run_set *set, struct arena *mem)
{
    AUTO_FREE const char **label = xcalloc(set->n + 1, sizeof *label);
    AUTO(differ_clear) struct differ d = { 0 };

    differ_params(&d, set->run, set->n);
    differ_labels(&d, set->run, set->n, 3, mem, label);
    for (size_t i = 0; i < set->n && !set->labelled; i++)
        if (*label[i])
            set->shown[i] =
                arena_printf(mem, "%s: %s", set->shown[i], label[i]);
}

static int build_compare(struct build *b, struct err *e)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;

    if (figure_runs(b, 0, e) < 0)
        return -1;
    name_by_difference(&b->set, &b->runs.mem);
    if (draw_panels(b, comparison, 2, e) < 0)
        return -1;
    if (!r->size && f->cols == 2)
        f->look.width = 580;
    return 0;
}

const struct cmd fig_compare = {
    .name = "compare",
    .args = "RUN...",
    .help = "draw losses, learning rate and throughput in four panels",
    .opts = curve_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_compare, 1, "runs are", true },
};
