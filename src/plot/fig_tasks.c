/*
 * fig_tasks - the last accuracies of runs on tasks
 *
 * A row for each task, so that its name has room, with a point for each run on
 * a line over its standard error.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "common/log.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"

/* The metric task/NAME/acc of a run that is the last one before another, in the
 * order of names; or NULL. */
static const char *task_before(const struct run_set *set, const char *other)
{
    const char *last = NULL;

    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; k < set->run[i].n_metrics; k++) {
            const char *key = set->run[i].metrics[k].key;

            if (strncmp(key, "task/", 5) == 0 && str_ends(key + 5, "/acc") &&
                strcmp(key, other) < 0 && (!last || strcmp(key, last) > 0))
                last = key;
        }
    return last;
}

static void add_point(struct curve *c, double x, double y)
{
    c->x[c->n] = x;
    c->y[c->n++] = isfinite(x) ? y : (double)NAN;
}

/* Add what a run has of a task: acc_norm, or else acc. */
static void add_answer(struct build *b, struct panel *p, size_t run, size_t row)
{
    const struct run_info *r = &b->set.run[run];
    struct arena *const mem = &b->figure->mem;
    const char *task = p->y.tick[row].label;
    const char *key = arena_printf(mem, "task/%s/acc_norm", task);
    const struct metric_sum *acc = run_info_metric(r, key), *error;
    const double y =
        (double)row + 0.35 - 0.35 * (double)(2 * run + 1) / (double)b->set.n;
    struct curve *line = &p->curve[run], *points = line + b->set.n;

    if (!acc)
        acc = run_info_metric(r, arena_printf(mem, "task/%s/acc", task));
    if (!acc)
        return;
    error = run_info_metric(r, arena_printf(mem, "%s_stderr", acc->key));
    if (error && error->last_step != acc->last_step)
        error = NULL;
    add_point(points, acc->last, y);
    for (int k = -1; error && k <= 1; k += 2)
        add_point(line, acc->last + k * error->last, y);
    add_point(line, NAN, y);
    table_text(b->summary, task);
    table_text(b->summary, b->set.name[run]);
    table_text(b->summary, strrchr(acc->key, '/') + 1);
    table_real(b->summary, 100 * acc->last);
    table_real_or_none(b->summary, error ? 100 * error->last : (double)NAN);
    table_int(b->summary, acc->last_step);
}

static void draw_tasks(struct build *b, const char **task, size_t n)
{
    struct figure *f = b->figure;
    struct panel *p = figure_panel(f, "Accuracy on tasks");
    const size_t runs = b->set.n;

    if (!b->request->size)
        f->look.height *= fmax(1, (double)n * fmin((double)runs + 1, 12) / 40);
    axis_init(&p->x, "accuracy", UNIT_FRACTION);
    axis_init(&p->y, "", UNIT_NAMED);
    request_axes(b->request, p);
    p->x.margin = 0.04;
    p->ramp = b->set.ramp;
    p->rows = (int)(runs > 1 ? 2 * n : n);
    axis_names(&p->y, &f->mem, task, n, (int)n);
    for (size_t i = 0; i < 2 * runs; i++) { /* the lines are behind */
        const char *label =
            i < runs ? "standard error" : b->set.shown[i - runs];
        struct curve *c = panel_curve(f, p, label, 3 * n);

        c->run = b->set.name[i % runs];
        c->id = b->set.run[i % runs].id;
        c->colour = b->set.slot[i % runs];
        c->style = i < runs ? STYLE_LINE : STYLE_POINTS;
        c->unlisted = i < runs || b->set.ramp;
        c->owner = b->set.value ? label : NULL;
        c->value = b->set.value ? b->set.value[i % runs] : NULL;
        c->n = 0;
    }
    for (size_t i = 0; i < n * runs; i++)
        add_answer(b, p, i % runs, n - 1 - i / runs);
    for (size_t i = 0; i < runs; i++)
        if (p->curve[runs + i].n == 0) {
            log_warn("%s has no tasks and is left out", b->set.name[i]);
            p->curve[runs + i].unlisted = true;
        }
    figure_note(f, "acc_norm of a task that has it, or else acc; lines are "
                   "standard errors.");
}

static int build_tasks(struct build *b, struct err *e)
{
    const char *key = "task0", **task = NULL; /* after all of task/ */
    size_t n = 0;

    if (figure_runs(b, 0, e) < 0)
        return -1;
    while ((key = task_before(&b->set, key))) {
        task = arena_grow(&b->figure->mem, task, n, sizeof *task);
        task[n++] = arena_strndup(&b->figure->mem, key + 5, strlen(key) - 9);
    }
    if (n == 0)
        return err_set(e, ERR_MISSING,
                       "no run has an accuracy on a task (task/NAME/acc); "
                       "gtrain records them with the setting eval.tasks");
    *b->summary = TABLE_INIT("gplot.tasks/1");
    table_columns(b->summary, "task", "run", "metric", "percent",
                  "standard error", "step", NULL);
    draw_tasks(b, task, n);
    return 0;
}

static const struct opt tasks_opts[] = { COMMON_OPTS, SWEEP_OPT, FINISHED_OPT,
                                         XRANGE_OPT,  LOOK_OPTS, OUT_OPTS,
                                         { 0 } };

const struct cmd fig_tasks = {
    .name = "tasks",
    .args = "RUN...",
    .help = "draw the accuracies of runs on tasks",
    .opts = tasks_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_tasks, 1, "runs are", true },
};
