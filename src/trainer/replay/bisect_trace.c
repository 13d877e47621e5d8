/*
 * bisect_trace - compute the traces of two runs, and find where they diverge
 */
#include "config.h"
#include "trainer/replay/bisect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/spawn.h"
#include "store/format/info.h"

/* ---- computing -------------------------------------------------------- */

/* On a CPU, compute with the instructions of the run, if they are known. */
static int compute_as(const struct run_info *run, int64_t step,
                      const char *const *argv, struct spawn *s, struct err *e)
{
    const char *device = changed_param(run, "derived.device", step);
    const char *instructions = changed_param(run, "derived.instructions", step);
    const char *given = getenv("GTRAIN_ISA");
    char *before = given ? xstrdup(given) : NULL;
    int ret;

    if (device && instructions && strcmp(device, "cpu") == 0)
        setenv("GTRAIN_ISA", instructions, 1);
    ret = spawn_run(argv, s, e);
    if (before)
        setenv("GTRAIN_ISA", before, 1);
    else
        unsetenv("GTRAIN_ISA");
    free(before);
    return ret;
}

static void add_word(struct path_list *argv, const char *word)
{
    path_list_add(argv, xstrdup(word));
}

int bisect_compute(struct buf *out, const struct bisect_run *r, int64_t step,
                   const char *const *words, struct err *e)
{
    struct path_list argv = { 0 };
    struct spawn s = { .out = out, .quiet = true, .max = (size_t)2 << 30 };
    int ret;

    add_word(&argv, r->build);
    while (*words)
        add_word(&argv, *words++);
    add_word(&argv, "-q");
    add_word(&argv, "--tsv");
    add_word(&argv, "--no-header");
    add_word(&argv, "--root");
    add_word(&argv, r->root);
    for (size_t i = 0; i < r->sets->n; i++) {
        add_word(&argv, "--set");
        add_word(&argv, r->sets->item[i]);
    }
    path_list_add(&argv, NULL);
    ret = compute_as(r->run, step, (const char *const *)argv.name, &s, e);
    path_list_clear(&argv);
    return ret < 0 ? err_wrap(e, "cannot compute %s again", r->run->name) : 0;
}

/* ---- reading ---------------------------------------------------------- */

char *bisect_cut(char **text, char end)
{
    char *field = *text, *at = strchr(field, end);

    if (!at)
        return NULL;
    *at = '\0';
    *text = at + 1;
    return field;
}

static int read_rows(struct bisect_rows *t, struct err *e)
{
    char *at = t->text.s, *line;

    while ((line = bisect_cut(&at, '\n'))) {
        struct bisect_row row = { 0 };
        const char *step = bisect_cut(&line, '\t');

        row.micro = bisect_cut(&line, '\t');
        row.operation = row.micro ? bisect_cut(&line, '\t') : NULL;
        row.tensor = row.operation ? bisect_cut(&line, '\t') : NULL;
        row.hash = row.tensor ? bisect_cut(&line, '\t') : NULL;
        row.size = line;
        if (!row.hash || !num_int(step, &row.step))
            return err_set(e, ERR_INPUT, "gtrain replay printed '%s'", line);
        GROW(t->row, t->n, t->room);
        t->row[t->n++] = row;
    }
    return 0;
}

int bisect_trace(struct bisect_rows *t, const struct bisect_run *r,
                 int64_t first, int64_t last, enum trace_kind kind,
                 struct err *e)
{
    char *steps = xasprintf("%" PRId64 ":%" PRId64, first, last);
    const char *const words[] = { "replay", r->run->id, "--steps",
                                  steps,    "--trace",  trace_words[kind],
                                  NULL };
    int ret;

    bisect_trace_clear(t);
    ret = bisect_compute(&t->text, r, first, words, e);
    if (ret == 0)
        ret = read_rows(t, e);
    free(steps);
    return ret;
}

void bisect_trace_clear(struct bisect_rows *t)
{
    buf_clear(&t->text);
    free(t->row);
    *t = BISECT_ROWS_INIT;
}

/* ---- comparing -------------------------------------------------------- */

static bool is_same_tensor(const struct bisect_row *a,
                           const struct bisect_row *b)
{
    return a->step == b->step && strcmp(a->tensor, b->tensor) == 0 &&
           strcmp(a->micro, b->micro) == 0 &&
           (*a->micro || strcmp(a->operation, b->operation) == 0);
}

bool bisect_trace_diverge(const struct bisect_rows *a,
                          const struct bisect_rows *b,
                          const struct bisect_row **row_a,
                          const struct bisect_row **row_b)
{
    size_t from = 0;

    for (size_t i = 0; i < a->n; i++) {
        size_t k = from;

        while (k < b->n && !is_same_tensor(&a->row[i], &b->row[k]))
            k++;
        if (k == b->n)
            continue;
        from = k + 1;
        *row_a = &a->row[i];
        *row_b = &b->row[k];
        if (strcmp((*row_a)->hash, (*row_b)->hash) != 0)
            return true;
    }
    return false;
}
