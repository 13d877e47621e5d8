#include "config.h"
#include "plot/figures.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/sig.h"
#include "plot/curve_groups.h"
#include "plot/options.h"
#include "plot/output.h"
#include "plot/summary.h"

/* Where on the command line a run is named, by name or id; past the end when
 * a filter found it. */
static int named_at(const struct run_info *run, char **words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(run->name, words[i]) == 0 ||
            (strlen(words[i]) >= 4 &&
             strncmp(run->id, words[i], strlen(words[i])) == 0))
            return i;
    return n;
}

/* The legend follows the command line.  The sort is stable: runs that one
 * filter found stay in the order they began. */
static void sort_as_named(struct runs *runs, char **words, int n)
{
    for (size_t i = 1; i < runs->n; i++) {
        const struct run_info run = runs->run[i];
        const int at = named_at(&run, words, n);
        size_t k = i;

        while (k > 0 && named_at(&runs->run[k - 1], words, n) > at) {
            runs->run[k] = runs->run[k - 1];
            k--;
        }
        runs->run[k] = run;
    }
}

/* Runs that cannot be in any group are left out, and that is said. */
static int check_group(const struct runs *runs, const char *param,
                       struct err *e)
{
    struct buf names = BUF_INIT;
    size_t without = 0;

    for (size_t i = 0; i < runs->n; i++) {
        if (group_value(&runs->run[i], param))
            continue;
        if (++without <= 3)
            buf_printf(&names, "%s%s", without > 1 ? ", " : "",
                       runs->run[i].name);
    }
    if (without > 3)
        buf_printf(&names, " and %zu others", without - 3);
    if (without > 0 && without < runs->n)
        log_warn("left out, without a parameter %s: %s", param, names.s);
    buf_clear(&names);
    return without < runs->n
               ? 0
               : err_set(e, ERR_MISSING,
                         "none of these runs has a parameter %s", param);
}

int figure_runs(struct runs *runs, struct build *b, int first, struct err *e)
{
    const struct request *r = b->request;
    char **words = b->words + first;
    const int n = b->n - first;
    const int ret = n > 0 ? runs_select(runs, r->root, words, n, 0, e)
                          : runs_load(runs, r->root, 0, e);

    for (size_t i = 0; i < runs->n && ret == 0; i++)
        b->running |= runs->run[i].status == RUN_RUNNING;
    if (ret == 0 && n > 1)
        sort_as_named(runs, words, n);
    if (ret == 0 && runs->n == 0)
        return err_set(e, ERR_MISSING, "there are no runs in %s", r->root);
    if (ret == 0 && r->group_by)
        return check_group(runs, r->group_by, e);
    return ret;
}

static int draw_once(build_fn *build, int argc, char **argv, bool *running,
                     struct err *e)
{
    struct figure f = FIGURE_INIT;
    struct table summary;
    struct build b = { .figure = &f, .summary = &summary,
                       .request = &plot_request, .words = argv, .n = argc };
    int ret;

    summary_init(&summary);
    request_look(&plot_request, &f);
    ret = build(&b, e);
    *running = b.running;
    if (ret == 0)
        ret = output_figure(&f, &summary, &plot_request, e);
    table_clear(&summary);
    figure_free(&f);
    return ret;
}

static void sleep_secs(double secs)
{
    struct timespec t = { (time_t)secs, (long)((secs - floor(secs)) * 1e9) };

    while (!sig_caught() && nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

int figure_main(build_fn *build, int argc, char **argv, struct err *e)
{
    const bool screen = !plot_request.output && isatty(STDOUT_FILENO);
    bool running = false;

    if (request_parse(&plot_request, e) < 0 ||
        output_check(&plot_request, e) < 0)
        return -1;
    if (!plot_request.watch)
        return draw_once(build, argc, argv, &running, e);
    sig_watch();
    do {
        running = false;
        if (screen)
            printf("\033[H\033[2J");
        if (draw_once(build, argc, argv, &running, e) < 0) {
            if (e->kind != ERR_MISSING || !running)
                return -1;
            /* what a run does not have yet, it may get */
            log_warn("%s", e->text);
            *e = (struct err)ERR_INIT;
        }
        fflush(stdout);
        if (running)
            sleep_secs(plot_request.every);
    } while (running && !sig_caught());
    return 0;
}
