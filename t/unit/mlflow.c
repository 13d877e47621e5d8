/*
 * mlflow - stores that MLflow wrote, read as MLflow itself reads them
 *
 * The archive mlflow-sample.tar.gz holds stores that versions 2.22 and 3.17
 * wrote, and for each what its client read back, as JSON.
 */
#include "config.h"
#include "common/path.h"
#include "store/format/store.h"
#include "store/read/runs.h"
#include "t/lib/tap.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same(const char *what, const char *got, const char *want)
{
    if (strcmp(got ? got : "(nothing)", want ? want : "(nothing)") == 0)
        return true;
    diag("%s: got %s, want %s", what, got ? got : "(nothing)",
         want ? want : "(nothing)");
    return false;
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A number, or one of "NaN", "Infinity", "-Infinity". */
static double number(const json_t *j)
{
    const char *s = json_string_value(j);

    if (!s)
        return json_number_value(j);
    return s[0] == 'N'   ? (double)NAN
           : s[0] == '-' ? -(double)INFINITY
                         : (double)INFINITY;
}

static bool equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_pairs(const char *what, const struct pair *p, size_t n,
                       json_t *want)
{
    bool good = n == json_object_size(want);

    if (!good)
        diag("%s: %zu, want %zu", what, n, json_object_size(want));
    for (size_t i = 0; i < n; i++)
        good &= same(p[i].key, p[i].value, text(want, p[i].key));
    return good;
}

static bool same_metrics(const struct run_info *r, json_t *run)
{
    json_t *last = json_object_get(run, "metrics_latest");
    json_t *history = json_object_get(run, "metric_history"), *points;
    /* MLflow 3.17 loses the steps of metrics logged with a dataset. */
    const bool lost = strcmp(r->name, "with-dataset") == 0;
    bool good = r->n_metrics == json_object_size(history);
    const char *key;

    json_object_foreach(history, key, points)
    {
        const struct metric_sum *m = run_info_metric(r, key);
        struct series s = { 0 };
        struct err e = { 0 };
        const size_t n = json_array_size(points);
        size_t found = 0;

        if (!m || series_load(&s, r, key, 0, &e) < 0 || s.n != n ||
            (size_t)m->count != n ||
            !equal(m->last, number(json_object_get(last, key)))) {
            diag("%s: %zu points, want %zu; %s", key, s.n, n, e.text);
            good = false;
            series_free(&s);
            continue;
        }
        for (size_t i = 0; i < n; i++) { /* both by step, stable */
            const json_t *p = json_array_get(points, i);
            const int64_t step = json_integer_value(json_array_get(p, 2));

            for (size_t j = 0; j < n; j++) {
                if ((s.step[j] == step || lost) &&
                    equal(s.value[j], number(json_array_get(p, 1))) &&
                    s.ms[j] == json_integer_value(json_array_get(p, 0))) {
                    found++;
                    break;
                }
            }
        }
        if (found != n) {
            diag("%s: %zu points are the same of %zu", key, found, n);
            good = false;
        }
        series_free(&s);
    }
    return good;
}

static bool same_datasets(const struct run_info *r, const json_t *want)
{
    bool good = r->n_inputs == json_array_size(want);

    for (size_t i = 0; i < r->n_inputs && good; i++) {
        const json_t *d = json_array_get(want, i);

        good = same("dataset", r->inputs[i].name, text(d, "name")) &&
               same("digest", r->inputs[i].digest, text(d, "digest")) &&
               same("context", r->inputs[i].context,
                    text(json_object_get(d, "tags"), "mlflow.data.context"));
    }
    return good;
}

static bool same_artifacts(const struct run_info *r, const json_t *want)
{
    bool good = true;
    size_t i;
    const json_t *a;

    json_array_foreach(want, i, a)
    {
        char *path =
            path_join(r->artifacts, json_string_value(json_array_get(a, 0)));

        if (!path_exists(path)) {
            diag("no artifact %s", path);
            good = false;
        }
        free(path);
    }
    return good;
}

static void one_run(const struct runs *runs, const char *version,
                    const json_t *x, json_t *run)
{
    const struct run_info *r = NULL;
    const json_t *end = json_object_get(run, "end_time");
    bool good;

    for (size_t i = 0; i < runs->n; i++)
        if (strcmp(runs->run[i].id, text(run, "run_id")) == 0)
            r = &runs->run[i];
    if (!r) {
        ok(false, "%s: run %s is found", version, text(run, "run_id"));
        return;
    }
    good = same("name", r->name, text(run, "run_name"));
    good &= same("experiment", r->experiment, text(x, "name"));
    good &= same("user", r->user, text(run, "user_id"));
    good &= same("status", run_status_word(r->status), text(run, "status"));
    good &= same("damage", r->damage, NULL);
    good &=
        r->start_ms == json_integer_value(json_object_get(run, "start_time"));
    good &= r->end_ms == (json_is_null(end) ? 0 : json_integer_value(end));
    good &=
        r->deleted == (strcmp(text(run, "lifecycle_stage"), "deleted") == 0);
    good &= same_pairs("params", r->params, r->n_params,
                       json_object_get(run, "params"));
    good &=
        same_pairs("tags", r->tags, r->n_tags, json_object_get(run, "tags"));
    good &= same_metrics(r, run);
    good &= same_datasets(r, json_object_get(run, "datasets"));
    good &= strncmp(r->artifact_uri, "file:///", 8) != 0 ||
            same_artifacts(r, json_object_get(run, "artifacts"));
    ok(good, "%s: run %s is read as MLflow reads it", version, r->name);
}

static void one_store(const char *folder, const char *version)
{
    char *root = xasprintf("%s/store-%s/mlruns", folder, version);
    char *path = xasprintf("%s/store-%s/expected.json", folder, version);
    json_t *want = json_load_file(path, 0, NULL);
    const json_t *x, *experiments = json_object_get(want, "experiments");
    struct experiments all = { 0 };
    struct runs runs = { 0 };
    struct err e = { 0 };
    size_t i, j, n = 0;
    json_t *run;

    if (!ok(want && runs_load(&runs, root, LOAD_DELETED, &e) == 0 &&
                experiments_load(&all, root, PATH_NO_LINKS, &e) == 0,
            "%s: the store is read", version))
        diag("%s", e.text);
    ok(all.n == json_array_size(experiments),
       "%s: all %zu experiments are read", version, all.n);
    json_array_foreach(experiments, i, x)
    {
        json_array_foreach(json_object_get(x, "runs"), j, run)
        {
            one_run(&runs, version, x, run);
            n++;
        }
    }
    ok(n == runs.n && n > 0, "%s: all %zu runs are read", version, n);
    experiments_free(&all);
    runs_free(&runs);
    json_decref(want);
    free(path);
    free(root);
}

int main(void)
{
    static const char *const versions[] = { "2.22.5", "3.17.2", "handwritten" };
    const char *data = getenv("GT_TESTDATA"), *top = getenv("top_srcdir");
    char folder[] = "/tmp/gtrack-mlflow.XXXXXX";
    char *archive = data ? path_join(data, "mlflow-sample.tar.gz")
                         : path_join(top ? top : "..",
                                     "../shared/data/mlflow-sample.tar.gz");
    char *command;
    struct err e = { 0 };

    if (!path_exists(archive)) {
        printf("1..0 # SKIP no mlflow-sample.tar.gz in GT_TESTDATA\n");
        free(archive);
        return 0;
    }
    if (!mkdtemp(folder))
        return 1;
    command = xasprintf("tar -xzf '%s' -C '%s'", archive, folder);
    if (ok(system(command) == 0, "the archive is unpacked"))
        for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
            one_store(folder, versions[i]);
    path_remove(folder, &e);
    free(command);
    free(archive);
    return done_testing();
}
