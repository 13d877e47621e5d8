/*
 * filter - what filters find, beside what MLflow finds in the same store
 *
 * t/unit/filters.golden is MLflow's answers, made by t/reference/filters.py
 * from the store that `t/unit/filter.t write DIR` leaves.
 */
#include "config.h"
#include "common/buf.h"
#include "common/path.h"
#include "store/query/filter.h"
#include "store/read/runs.h"
#include "store/write/run.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct key_value {
    const char *key, *value;
};

/* clang-format off */
static const struct sample {
    const char *name;
    const char *start, *end;    /* ms; end NULL: a run that goes on */
    enum run_status status;
    struct key_value params[8], tags[4];
    struct run_point metrics[10];
} samples[] = {
    { "A", "1000", "5500", RUN_FINISHED,
      { { "lr", "1e-3" }, { "opt", "AdamW" }, { "a b", "z" }, { "a.b", "w" },
        { "num", "10" }, { "utf", "gr\xc3\xbc\xc3\x9f" }, { "empty", "" } },
      { { "mlflow.note.content", "it's" }, { "pct", "50%%x" } },
      { { "loss", 9 }, { "loss", 0.5 }, { "val/loss", 0.4 }, { "a-b", 1 },
        { "a b", 2 }, { "a.b.c", 3 }, { "a:b", 4 }, { "\xc3\xa9", 7 } } },
    { "B", "2000", "6500", RUN_FAILED,
      { { "lr", "0.01" }, { "opt", "sgd" }, { "num", "9" } },
      { { "k", "v" } },
      { { "loss", 2.5 }, { "dup", 1 }, { "dup", 3 } } },
    { "C", "3000", "7500", RUN_FINISHED,
      { { "lr", "0.1" }, { "opt", "adamw" }, { "num", "100" } },
      { { "x", "y" } },
      { { "loss", (double)NAN }, { "odd", (double)INFINITY } } },
    { "D", "4000", "8500", RUN_PREEMPTED,
      { { "opt", "lion\nlion" } }, { { 0 } },
      { { "loss", 1e300 }, { "odd", (double)NAN } } },
    { "E", "5000", NULL, RUN_RUNNING,
      { { "x", "1" } }, { { "k2", "" } },
      { { "loss", -1 }, { "odd", -(double)INFINITY } } },
};

/* What MLflow does not know. */
static const struct {
    const char *filter, *found;
} more[] = {
    { "", "ABCDE" },
    { "metrics.loss < 5 or params.lr = '0.1'", "ABCE" },
    { "not metrics.loss < 5", "CD" },
    { "(metrics.loss < 5)", "ABE" },
    { "(metrics.loss < 5 or metrics.loss > 1e10) and not params.opt = 'sgd'",
      "ADE" },
    { "not (status = 'FINISHED' and metrics.loss = 0.5)", "BCDE" },
    { "metrics.loss < 5 or metrics.loss > 1e10 and params.lr = 'no'", "ABE" },
    { "metrics.loss == 0.5", "A" },
    { "metrics.loss <> 0.5", "BCDE" },
    { "metrics.loss < +5", "ABE" },
    { "metrics.odd = inf", "C" },
    { "metrics.odd = -inf", "E" },
    { "metrics.val/loss < 5", "A" },
    { "metrics.a-b < 5", "A" },
    { "metrics.a:b = 4", "A" },
    { "metrics.loss in (0.5, 2.5)", "AB" },
    { "metrics.loss not in (0.5)", "BCDE" },
    { "metrics.val/loss is null", "BCDE" },
    { "metrics.val/loss is not null", "A" },
    { "params.lr = 0.001", "A" },
    { "params.lr < 0.05", "AB" },
    { "params.lr >= 1e-2", "BC" },
    { "params.num > 9", "AC" },
    { "params.num > '9'", "-" },
    { "params.num in (9, 10.0)", "AB" },
    { "params.opt in ('sgd', 'AdamW')", "AB" },
    { "params.opt not in ('sgd')", "ACD" },
    { "params.opt not like 'a%'", "ABD" },
    { "params.opt not ilike 'a%'", "BD" },
    { "params.utf ilike 'GR\xc3\x9c_'", "A" },
    { "params.utf like 'GR\xc3\x9c_'", "-" },
    { "params.opt like '%\nl%' and params.opt like 'lion_lion'", "D" },
    { "params.utf ilike 'GR\xc3\x9c\xe1\xba\x9e'", "A" },
    { "and params.opt = 'sgd' and and metrics.loss < 5 and", "B" },
    { "\"status\" = 'FAILED'", "B" },
    { "params.opt = 'sgd'and status = 'FAILED'or name = 'A'", "AB" },
    { "params.opt = sgd", "B" },
    { "params.opt < 1", "-" },
    { "min(metrics.loss) < 1", "AE" },
    { "max(loss) = 9", "A" },
    { "mean(metrics.loss) = 4.75", "A" },
    { "median(loss) = 4.75", "A" },
    { "last(loss) = 0.5", "A" },
    { "count(metrics.`loss`) = 2", "A" },
    { "MAX ( metrics.loss ) > 5 and min(loss) < 5", "A" },
    { "status = 'PREEMPTED'", "D" },
    { "status = 'KILLED'", "D" },
    { "status in ('FAILED', 'PREEMPTED')", "BD" },
    { "status not in ('FAILED', 'PREEMPTED')", "ACE" },
    { "status != 'PREEMPTED'", "ABCE" },
    { "name = 'A' or name = B", "AB" },
    { "experiment = 'probe'", "ABCDE" },
    { "duration > 4s", "ABCDE" },
    { "duration > 1h", "E" },
    { "time < 1h", "ABCD" },
    { "steps > 5", "A" },
    { "steps in (1, 2)", "BCDE" },
    { "started > '1970-01-01 00:00:02'", "CDE" },
    { "start_time >= 1970-01-01T00:00:04", "DE" },
    { "ended < '2026-01-01'", "ABCD" },
    { "ended is null", "E" },
    { "parent is null and deleted is null", "ABCDE" },
    { "folder like '%mlruns%' or folder like '%/%'", "ABCDE" },
    { "state = 'finished'", "AC" },
    { "status in (failed, 'Killed')", "BD" },
    { "status != 'finished'", "BDE" },
    { "argmin(loss) = 1", "A" },
    { "argmin(loss) < 5", "ABDE" },
    { "argmax(metrics.loss) = 0", "ABDE" },
    { "argmin(loss) is null", "C" },
    { "first(loss) > 5", "AD" },
    { "at(loss, 1) < 1", "AE" },
    { "at(metrics.loss,0) = 9", "A" },
    { "tags.mlflow.note.content = 'it''s'", "A" },
    { "attempts = 1", "ABCD" },
    { "dataset.context is null", "BCDE" },
    { "tags.mlflow.runName in ('A', 'E',)", "AE" },
    { "loss < 5", "ABE" },
    { "val/loss < 5", "A" },
    { "lr < 0.05 and k = 'v'", "B" },
    { "opt like 's%'", "B" },
    { "odd is null", "AB" },
    { "metrics.loss is nan", "C" },
    { "metrics.loss is not nan", "ABDE" },
    { "metrics.odd is not finite", "CDE" },
    { "odd is finite", "-" },
    { "num is finite", "ABC" },
    { "opt is nan", "-" },
    { "min(loss) is finite", "ABDE" },
    { "metrics.nosuch is null", "ABCDE" },
    { "params.nosuch is not null", "-" },
    { "experiment != 'nosuch'", "ABCDE" },
};

/* What is no filter, and what is said of it. */
static const struct key_value wrongs[] = {
    { "   ", "expected" },
    { "metrics.loss <", "a value is expected at the end" },
    { "metrics.loss < '5'", "without quotes" },
    { "attributes.loss < 5", "there is no attribute loss" },
    { "loss < '5'", "without quotes" },
    { "loss like '5'", "without quotes" },
    { "params.lr is nan", "only a number" },
    { "metrics.loss < 5;", "no meaning" },
    { "metrics.loss < 5 -- x", "\"and\" or \"or\"" },
    { "metrics.loss < 5, status = 'x'", "\"and\" or \"or\"" },
    { "(metrics.loss < 5", "\")\" is expected" },
    { "metrics.loss < 5)", "\"and\" or \"or\"" },
    { "metrics.loss in ()", "needs a value" },
    { "metrics.loss in (1 2)", "\",\" or" },
    { "metrics.loss like '5'", "no pattern" },
    { "params.opt like sgd", "pattern in quotes" },
    { "params.opt rlike 'a'", "one of =" },
    { "tags.k = 'v", "no end" },
    { "metrics.loss is 5", "\"null\"" },
    { "dataset.profile = 'x'", "name, digest and context" },
    { "metrics.loss < 1_0", "a number" },
    { "started > 'x'", "a date" },
    { "at(loss) < 1", "a comma and a step" },
    { "at(loss, x) < 1", "a step is expected" },
};

/* What no run has, and what is said of it. */
static const struct key_value unknown[] = {
    { "metrics.los < 5", "no run has a metric los; did you mean loss?" },
    { "metrics.Val_Loss < 5", "did you mean val/loss?" },
    { "min(los) < 5", "did you mean loss?" },
    { "params.OPT = 'sgd'", "no run has a parameter OPT; did you mean opt?" },
    { "status = 'FAILED' or los < 5", "parameter, metric or tag los" },
    { "nosuch.loss < 5", "nosuch.loss" },
    { "5 > metrics.loss", "metric or tag 5" },
    { "experiment = 'prob'", "did you mean probe?" },
    { "status = 'faild'", "there is no status FAILD; did you mean FAILED?" },
};
/* clang-format on */

enum { SAMPLES = sizeof samples / sizeof samples[0] };

static int write_one(const char *root, const struct sample *s)
{
    struct run_conf c = { .root = root,
                          .experiment = "probe",
                          .name = s->name,
                          .no_provenance = true };
    const struct run_dataset d = { .name = "train-set",
                                   .digest = "abc123",
                                   .context = "training" };
    struct err e = { 0 };
    struct run *run;
    char *own = NULL;
    int ret = 0;

    setenv("GT_CLOCK_MS", s->start, 1);
    if (run_begin(&run, &c, &e) < 0) {
        diag("%s", e.text);
        return -1;
    }
    for (const struct key_value *p = s->params; p->key; p++)
        run_param(run, p->key, p->value);
    for (const struct key_value *p = s->tags; p->key; p++)
        run_tag(run, p->key, p->value);
    for (int i = 0; s->metrics[i].key; i++)
        run_metrics(run, i, &s->metrics[i], 1);
    if (s->name[0] == 'A')
        ret = run_dataset(run, &d, &e);
    if (s->end) {
        setenv("GT_CLOCK_MS", s->end, 1);
    } else { /* as another tool's run: no heartbeat */
        own = path_join(run_folder(run), ".gtrack");
    }
    if (run_end(run, s->status, &e) < 0 || (own && path_remove(own, &e) < 0))
        ret = -1;
    free(own);
    return ret;
}

static int write_all(const char *root)
{
    int ret = 0;

    for (size_t i = 0; i < SAMPLES && ret == 0; i++)
        ret = write_one(root, &samples[i]);
    unsetenv("GT_CLOCK_MS");
    return ret;
}

static int by_name(const void *a, const void *b)
{
    const struct run_info *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* The names a filter finds, or NULL when it is none. */
static const char *find(const struct runs *runs, const char *text, bool resolve,
                        struct err *e)
{
    static char names[SAMPLES + 2];
    struct filter *f = filter_parse(text, e);
    size_t n = 0;

    if (!f || (resolve && filter_resolve(f, runs, e) < 0)) {
        filter_free(f);
        return NULL;
    }
    for (size_t i = 0; i < runs->n; i++)
        if (filter_match(f, &runs->run[i], e) > 0 && n < SAMPLES)
            names[n++] = runs->run[i].name[0];
    filter_free(f);
    if (n == 0)
        names[n++] = '-';
    names[n] = '\0';
    return names;
}

static void expect(const struct runs *runs, const char *text, const char *want,
                   bool resolve)
{
    struct err e = { 0 };
    const char *got = find(runs, text, resolve, &e);

    if (!ok(got && strcmp(got, want) == 0, "the filter '%s' chooses '%s'", text,
            want))
        diag("got %s", got ? got : e.text);
}

static void golden(const struct runs *runs)
{
    const char *top = getenv("top_srcdir");
    char *path = path_join(top ? top : "..", "t/unit/filters.golden");
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    int lines = 0;

    if (buf_read_file(&b, path, 1 << 20, &e) < 0)
        diag("%s", e.text);
    for (char *line = b.s, *next; *line; line = next) {
        char *tab = strchr(line, '\t');

        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        if (*line == '#' || !tab)
            continue;
        *tab = '\0';
        lines++;
        if (strcmp(tab + 1, "error") != 0)
            expect(runs, line, tab + 1, false);
    }
    ok(lines > 100, "MLflow answered %d filters", lines);
    buf_clear(&b);
    free(path);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/gtrack-filter.XXXXXX";
    struct runs runs = { 0 };
    struct err e = { 0 };

    setenv("TZ", "UTC", 1);
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_all(argv[2]) != 0;
    if (!mkdtemp(folder))
        return 1;
    if (!ok(write_all(folder) == 0 && runs_load(&runs, folder, 0, &e) == 0 &&
                runs.n == SAMPLES,
            "the samples are there"))
        diag("%s", e.text);
    qsort(runs.run, runs.n, sizeof *runs.run, by_name);
    golden(&runs);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        expect(&runs, more[i].filter, more[i].found, true);
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        e = (struct err){ 0 };
        if (!ok(!find(&runs, wrongs[i].key, true, &e) && e.kind == ERR_USAGE &&
                    strstr(e.text, wrongs[i].value),
                "the filter '%s' is refused: %s", wrongs[i].key, e.text))
            diag("wanted: %s", wrongs[i].value);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        e = (struct err){ 0 };
        ok(!find(&runs, unknown[i].key, true, &e) && e.kind == ERR_MISSING &&
               strstr(e.text, unknown[i].value),
           "the filter '%s' names what no run has: %s", unknown[i].key, e.text);
        runs.n = 0;
        ok(find(&runs, unknown[i].key, true, &e) != NULL,
           "the filter '%s' is none the worse in an empty store",
           unknown[i].key);
        runs.n = SAMPLES;
    }
    runs_free(&runs);
    path_remove(folder, &e);
    return done_testing();
}
