#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "common/save.h"
#include "store/bulk.h"
#include "track/runs/file_tree.h"

static struct table_style style;
static struct opt_list added;
static const char *cat, *under = "";

static const struct opt artifacts_opts[] = {
    TRACK_OPTS,
    { 0, "cat", "path", OPT_STRING, &cat,
      "write this artifact to standard output" },
    { 0, "add", "file", OPT_LIST, &added,
      "copy FILE to the artifacts; may be given many times" },
    { 0, "under", "folder", OPT_STRING, &under,
      "with --add, copy to this folder of the artifacts" },
    TABLE_OPTS(style),
    { 0 }
};

static int copy(FILE *to, const char *from, struct err *e)
{
    FILE *fp = fopen(from, "re");
    char chunk[65536];
    size_t n;
    int ret = 0;

    if (!fp)
        return err_open(e, "cannot read %s", from);
    while ((n = fread(chunk, 1, sizeof chunk, fp)) > 0)
        if (fwrite(chunk, 1, n, to) != n)
            break;
    if (ferror(fp))
        ret = err_sys(e, "cannot read %s", from);
    fclose(fp);
    return ret;
}

static int add(const struct run_info *r, const char *file, struct err *e)
{
    char *name = path_join(under, path_name(file)), *to = NULL;
    struct save s = SAVE_INIT;
    struct bulk p;
    int ret = -1;

    if (bulk_open(&p, r->folder, e) == 0) {
        to = bulk_artifact(&p, name, e);
        if (to && save_open(&s, to, e) == 0 && copy(s.fp, file, e) == 0)
            ret = save_commit(&s, e);
        save_abandon(&s);
        bulk_close(&p);
    }
    free(to);
    free(name);
    return ret;
}

static int list(const struct run_info *r, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.artifacts/1");
    struct files f = FILES_INIT;
    int ret;

    if (files_list(&f, r->artifacts, e) < 0)
        return -1;
    table_column(&t, "path");
    table_column(&t, "bytes");
    table_column(&t, "modified");
    for (size_t i = 0; i < f.n; i++) {
        table_text(&t, f.item[i].path);
        table_bytes(&t, f.item[i].size);
        table_time(&t, f.item[i].mtime_ms);
    }
    ret = table_print(&t, &style, e);
    table_clear(&t);
    files_clear(&f);
    return ret;
}

/* A path below the folder of artifacts, and not out of it again. */
static bool inside(const char *path)
{
    const size_t n = strlen(path);

    return *path && *path != '/' && !strstr(path, "/../") &&
           strncmp(path, "../", 3) != 0 && strcmp(path, "..") != 0 &&
           !(n > 2 && strcmp(path + n - 3, "/..") == 0);
}

static int artifacts_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    int ret = 0;

    if (table_form(&style, e) < 0 ||
        track_words(argc, 0, 1, "artifacts [RUN]", e) < 0)
        return -1;
    if ((cat && !inside(cat)) || (*under && !inside(under)))
        return err_set(e, ERR_USAGE, "'%s' is not a path inside a run",
                       cat ? cat : under);
    if (track_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    if (cat) {
        char *path = path_join(runs.run[0].artifacts, cat);

        ret = copy(stdout, path, e);
        free(path);
    }
    for (size_t i = 0; i < added.n && ret == 0; i++)
        ret = add(&runs.run[0], added.item[i], e);
    if (ret == 0 && !cat && !added.n)
        ret = list(&runs.run[0], e);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_artifacts = {
    .name = "artifacts",
    .args = "[RUN]",
    .help = "list, print or add the artifacts of a run",
    .opts = artifacts_opts,
    .run = artifacts_main,
};
