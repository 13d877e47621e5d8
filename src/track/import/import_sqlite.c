/*
 * import_sqlite - copy runs from the databases of MLflow and Trackio
 *
 * A database is only read, and chooses no path: the artifacts of MLflow are
 * looked for beside it, where MLflow puts them by default.
 */
#include "config.h"
#include "track/import/import.h"

#include <float.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "common/dl.h"
#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/store.h"

/* -- libsqlite3 ------------------------------------------------------------ */

/* clang-format off */
#define SQLITE_CALLS(X) \
    X(open, sqlite3_open_v2) \
    X(close, sqlite3_close) \
    X(config, sqlite3_db_config) \
    X(errmsg, sqlite3_errmsg) \
    X(prepare, sqlite3_prepare_v2) \
    X(bind_text, sqlite3_bind_text) \
    X(step, sqlite3_step) \
    X(finalize, sqlite3_finalize) \
    X(text, sqlite3_column_text) \
    X(whole, sqlite3_column_int64) \
    X(real, sqlite3_column_double)

struct lib { SQLITE_CALLS(DL_POINTER) };

#define ROW(member, function) DL_ROW(struct lib, member, function)
/* clang-format on */

static const struct dl_symbol symbols[] = { SQLITE_CALLS(ROW){ NULL, 0 } };

struct sqlite {
    struct lib lib;
    sqlite3 *db;
    struct import *import;
    struct import_run in; /* the run that is being read */
    int64_t count;        /* for take_count() */
    size_t deleted;
};

/* -- queries --------------------------------------------------------------- */

typedef int row_fn(struct sqlite *, sqlite3_stmt *row, struct err *);

/* Call a function for each row of a query, in which ?1 is a name. */
static int each(struct sqlite *d, const char *sql, const char *name, row_fn *fn,
                struct err *e)
{
    sqlite3_stmt *row = NULL;
    int code = d->lib.prepare(d->db, sql, -1, &row, NULL), ret = 0;

    if (code == SQLITE_OK && name)
        code = d->lib.bind_text(row, 1, name, -1, SQLITE_TRANSIENT);
    while (code == SQLITE_OK && ret == 0) {
        const int got = d->lib.step(row);

        if (got == SQLITE_ROW)
            ret = fn(d, row, e);
        else
            code = got;
    }
    if (ret == 0 && code != SQLITE_DONE)
        ret = err_input(e, "%s: %s", d->import->path, d->lib.errmsg(d->db));
    d->lib.finalize(row);
    return ret;
}

/* NULL if it is null. */
static const char *text(const struct sqlite *d, sqlite3_stmt *row, int column)
{
    return (const char *)d->lib.text(row, column);
}

static int take_count(struct sqlite *d, sqlite3_stmt *row, struct err *e UNUSED)
{
    d->count = d->lib.whole(row, 0);
    return 0;
}

/* Is there a table of this name?  A view might compute for ever. */
static bool has_table(struct sqlite *d, const char *name)
{
    return each(d,
                "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                "name = ?1",
                name, take_count, ERR_IGNORED) == 0 &&
           d->count > 0;
}

static void report_left(struct sqlite *d)
{
    static const char *const left[][2] = {
        { "experiment_tags", "tag of an experiment" },
        { "datasets", "dataset" },
        { "logged_models", "logged model" },
        { "registered_models", "registered model" },
        { "trace_info", "trace" },
        { "artifacts", "artifact" },
        { "traces", "trace" },
        { "alerts", "alert" },
    };
    AUTO(buf_clear) struct buf b = BUF_INIT;

    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        AUTO_FREE char *sql = xasprintf("SELECT count(*) FROM %s", left[i][0]);

        if (has_table(d, left[i][0]) &&
            each(d, sql, NULL, take_count, ERR_IGNORED) == 0 && d->count > 0)
            buf_printf(&b, "%s%s (%lld)", b.len ? ", " : "", left[i][1],
                       (long long)d->count);
    }
    if (d->deleted)
        log_info("%s: deleted runs (%zu) stay deleted; ls -d lists them",
                 d->import->path, d->deleted);
    if (b.len)
        log_warn("%s: left out: %s", d->import->path, b.s);
}

/* Begin a run, with its id if that is one. */
static void begin_run(struct sqlite *d, const char *id, const char *name)
{
    AUTO_FREE char *path = store_absolute(d->import->path);

    import_run_init(&d->in, xasprintf("%s#%s", path, id));
    d->in.id = store_is_id(id) ? xstrdup(id) : NULL;
    import_run_name(&d->in, name);
}

/* -- MLflow ---------------------------------------------------------------- */

static int add_pair(struct sqlite *d, sqlite3_stmt *row, struct err *e UNUSED)
{
    const char *key = text(d, row, 0), *value = text(d, row, 1);

    (d->lib.whole(row, 2) ? import_run_tag
                          : import_run_param)(&d->in, key, value ? value : "");
    return 0;
}

/* MLflow has the largest number for an infinity. */
static int add_point(struct sqlite *d, sqlite3_stmt *row, struct err *e UNUSED)
{
    double x = d->lib.real(row, 3);

    if (d->lib.whole(row, 4))
        x = (double)NAN;
    else if (fabs(x) >= DBL_MAX)
        x *= 2;
    import_run_point(&d->in, text(d, row, 0), d->lib.whole(row, 2),
                     d->lib.whole(row, 1), x);
    return 0;
}

/* Where MLflow and its server put artifacts unless they are told otherwise. */
static void find_artifacts(struct sqlite *d, long long experiment)
{
    static const char *const places[] = { "mlruns", "mlartifacts" };
    struct import_run *in = &d->in;
    AUTO_FREE char *beside = path_parent(d->import->path);

    for (int i = 0; in->id && !in->files && i < 2; i++) {
        in->files = xasprintf("%s/%s/%lld/%s/artifacts", beside, places[i],
                              experiment, in->id);
        if (!path_is_folder(in->files))
            xreplace(&in->files, NULL);
    }
    in->inside = d->import->flags & LOAD_LINKS ? NULL : in->files;
}

static int read_mlflow_run(struct sqlite *d, sqlite3_stmt *row, struct err *e)
{
    const char *id = text(d, row, 0);
    struct import_run *in = &d->in;
    enum run_status status;
    int ret;

    begin_run(d, id, text(d, row, 1));
    import_run_experiment(in, text(d, row, 2));
    xreplace(&in->user, text(d, row, 3));
    ret = each(d,
               "SELECT key, value, 0 FROM params WHERE run_uuid = ?1 UNION ALL "
               "SELECT key, value, 1 FROM tags WHERE run_uuid = ?1",
               id, add_pair, e);
    if (ret == 0)
        ret = each(d,
                   "SELECT key, timestamp, step, value, is_nan FROM metrics "
                   "WHERE run_uuid = ?1 ORDER BY key, timestamp, step",
                   id, add_point, e);
    find_artifacts(d, d->lib.whole(row, 4));
    status = run_status_find(text(d, row, 5), RUN_KILLED);
    in->status = status ? status : in->status;
    in->start_ms = d->lib.whole(row, 6);
    in->end_ms = d->lib.whole(row, 7);
    in->deleted_ms = d->lib.whole(row, 8);
    d->deleted += in->deleted_ms != 0;
    return import_run_end(&d->in, d->import, ret, e);
}

/* Old versions did not note when a run was deleted. */
static int read_mlflow(struct sqlite *d, struct err *e)
{
    return each(d,
                "SELECT run_uuid, r.name, x.name, user_id, experiment_id, "
                "status, start_time, end_time, CASE r.lifecycle_stage WHEN "
                "'deleted' THEN coalesce(deleted_time, 1) ELSE 0 END FROM runs "
                "r JOIN experiments x USING (experiment_id) ORDER BY "
                "start_time",
                NULL, read_mlflow_run, e);
}

/* -- Trackio --------------------------------------------------------------- */

/* The text of a time is a day for SQLite. */
static int64_t time_of(const struct sqlite *d, sqlite3_stmt *row, int column)
{
    const double day = d->lib.real(row, column);

    return day > 0 ? llround((day - 2440587.5) * 86400000) : 0;
}

/* System metrics have no steps: these are seconds. */
static int add_values(struct sqlite *d, sqlite3_stmt *row, struct err *e UNUSED)
{
    const char *json = text(d, row, 2);
    json_auto_t *values = json ? json_loads(json, 0, NULL) : NULL;
    struct import_json_row r = { &d->in, "", d->lib.whole(row, 0),
                                 time_of(d, row, 1) };

    if (!text(d, row, 0)) {
        r.prefix = "system/";
        r.step = (r.ms - d->in.start_ms) / 1000;
    }
    import_json_each("", values, '/', import_json_point, &r);
    return 0;
}

/* Keys that begin with an underscore are Trackio's own. */
static void add_setting(void *arg, const char *key, json_t *value)
{
    if (*key != '_')
        import_json_param(arg, key, value);
}

static int add_config(struct sqlite *d, sqlite3_stmt *row, struct err *e UNUSED)
{
    const char *json = text(d, row, 1);
    json_auto_t *config = json ? json_loads(json, 0, NULL) : NULL;

    d->in.start_ms = d->in.end_ms = time_of(d, row, 0);
    xreplace(&d->in.user,
             json_string_value(json_object_get(config, "_Username")));
    import_json_each("", config, '.', add_setting, &d->in);
    return 0;
}

static int read_trackio_run(struct sqlite *d, sqlite3_stmt *row, struct err *e)
{
    const char *id = text(d, row, 0), *file = path_name(d->import->path);
    int ret;

    begin_run(d, id, text(d, row, 1));
    d->in.experiment = xstrndup(file, strcspn(file, "."));
    ret = each(d,
               "SELECT julianday(created_at), config FROM configs WHERE "
               "run_id = ?1",
               id, add_config, e);
    if (ret == 0)
        ret = each(d,
                   "SELECT step, julianday(timestamp), metrics FROM metrics "
                   "WHERE run_id = ?1 UNION ALL SELECT NULL, "
                   "julianday(timestamp), metrics FROM system_metrics WHERE "
                   "run_id = ?1",
                   id, add_values, e);
    return import_run_end(&d->in, d->import, ret, e);
}

static int read_trackio(struct sqlite *d, struct err *e)
{
    return each(d,
                "SELECT run_id, min(run_name) FROM (SELECT run_id, run_name "
                "FROM configs UNION ALL SELECT run_id, run_name FROM metrics) "
                "GROUP BY run_id",
                NULL, read_trackio_run, e);
}

/* -- the file -------------------------------------------------------------- */

/* Open it so that its own definitions can do no harm. */
static int open_as(struct sqlite *d, const char *name, int flags, struct err *e)
{
    d->lib.close(d->db);
    d->lib.open(name, &d->db, flags | SQLITE_OPEN_READONLY, NULL);
    d->lib.config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    d->lib.config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    return each(d, "SELECT count(*) FROM sqlite_master", NULL, take_count, e);
}

/* A file with a log of its changes cannot be opened where no other may be made,
 * unless the log is empty, and nobody writes. */
static int open_file(struct sqlite *d, struct err *e)
{
    const char *path = d->import->path;
    AUTO_FREE char *wal = xasprintf("%s-wal", path);
    AUTO(buf_clear) struct buf uri = BUF_INIT;
    struct stat st = { 0 };
    int ret = open_as(d, path, 0, ERR_IGNORED);

    if (ret < 0 && stat(wal, &st) == 0 && st.st_size > 0) {
        ret = err_input(e,
                        "%s has changes in %s that a reader cannot merge; open "
                        "it once with sqlite3 or the program that wrote it",
                        path, path_name(wal));
    } else if (ret < 0) {
        buf_str(&uri, "file:");
        percent_add(&uri, path, PERCENT_PART);
        buf_str(&uri, "?immutable=1");
        ret = open_as(d, uri.s, SQLITE_OPEN_URI, e);
    }
    return ret;
}

int import_sqlite(struct import *import, struct err *e)
{
    struct sqlite d = { .import = import };
    int ret;

    if (dl_load(&d.lib, symbols, "libsqlite3.so.0", e) < 0)
        return err_wrap(e, "%s is a database of SQLite", import->path);
    ret = open_file(&d, e);
    if (ret == 0 && has_table(&d, "runs") && has_table(&d, "metrics"))
        ret = read_mlflow(&d, e);
    else if (ret == 0 && has_table(&d, "configs") && has_table(&d, "metrics"))
        ret = read_trackio(&d, e);
    else if (ret == 0)
        ret = err_input(e, "%s is a database of neither MLflow nor Trackio",
                        import->path);
    if (ret == 0)
        report_left(&d);
    d.lib.close(d.db);
    return ret;
}
