/*
 * gtrack artifacts - list, print or add the artifacts of a run
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "common/save.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

static struct table_style style;
static struct opt_list added;
static const char *cat, *under = "";

static const struct opt artifacts_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 0, "cat", "path", OPT_STRING, &cat,
      "write this artifact to standard output" },
    { 0, "add", "file", OPT_LIST, &added,
      "copy FILE to the artifacts; may be given many times" },
    { 0, "under", "folder", OPT_STRING, &under,
      "with --add, copy to this folder of the artifacts" },
    TABLE_OPTS(style),
    { 0 }
};

static int print_file(const struct run_info *r, const char *name, struct err *e)
{
    AUTO_FREE char *path = path_join(r->artifacts, name);
    const int fd = path_open_inside(path, run_info_inside(r), e);
    AUTO(path_fclose) FILE *fp = fd < 0 ? NULL : fdopen(fd, "r");

    return fp ? pager_file(fp, path, e) : -1;
}

static int copy_content(FILE *to, const char *name, struct err *e)
{
    AUTO(path_fclose) FILE *from = fopen(name, "re");

    return from ? copy_stream(from, name, to, e)
                : err_open(e, "cannot read %s", name);
}

static int add_file(const struct run_info *r, const char *file, struct err *e)
{
    AUTO_FREE char *name = path_join(under, path_name(file)), *to = NULL;
    struct path_pin pin = { .fd = -1 };
    struct save s = { 0 };
    int ret = -1;

    to = path_join(r->artifacts, name);
    if (r->links ? path_make_parent(to, e) == 0
                 : path_pin(&pin, to, r->folder, e) == 0) {
        if ((r->links ? save_open(&s, to, e)
                      : save_open_here(&s, pin.name, e)) == 0 &&
            copy_content(s.fp, file, e) == 0)
            ret = save_commit(&s, e);
    }
    save_abandon(&s);
    path_unpin(&pin, e);
    return ret;
}

/* Add the links to folders among the checkpoints, such as that to the best. */
static int add_links(struct table *t, const struct run_info *r, struct err *e)
{
    AUTO_FREE char *folder = path_join(r->artifacts, "checkpoints");
    AUTO(path_list_clear) struct path_list l = { 0 };
    int ret = path_is_folder(folder) ? path_list(&l, folder, e) : 0;

    for (size_t i = 0; ret == 0 && i < l.n; i++) {
        const char *path = path_listed(&l, i);
        char to[256];
        const ssize_t n = readlink(path, to, sizeof to - 1);

        if (n > 0 && path_is_folder(path) &&
            !path_leaves(path, run_info_inside(r))) {
            to[n] = '\0';
            table_printf(t, "checkpoints/%s -> %s", l.name[i], to);
            table_none(t);
            table_none(t);
        }
    }
    return ret;
}

static int list_files(const struct run_info *r, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.artifacts/1");
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret;

    if (file_tree_list(&f, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    table_columns(&t, "path", "bytes", "modified", NULL);
    for (size_t i = 0; i < f.n; i++) {
        table_text(&t, f.file[i].path);
        file_tree_add_size(&t, &f.file[i]);
        table_time(&t, f.file[i].mtime_ms);
    }
    ret = add_links(&t, r, e);
    return table_finish(&t, ret, &style, e);
}

static int artifacts_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = 0;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 0, 1, e) < 0)
        return -1;
    if ((cat && !path_stays_below(cat)) || (*under && !path_stays_below(under)))
        return err_usage(e, "'%s' is not a path inside the run",
                         cat ? cat : under);
    if (track_select_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    if (cat)
        ret = print_file(&runs.run[0], cat, e);
    for (size_t i = 0; i < added.n && ret == 0; i++)
        ret = add_file(&runs.run[0], added.item[i], e);
    if (ret == 0 && !cat && !added.n)
        ret = list_files(&runs.run[0], e);
    return ret;
}

/* With --follow-links, files are added where links lead. */
static void confine_artifacts(void)
{
    if (!track_links() || !added.n)
        track_confine_writer();
}

const struct cmd cmd_artifacts = {
    .name = "artifacts",
    .args = "[RUN]",
    .help = "list, print or add the artifacts of a run",
    .opts = artifacts_opts,
    .confine = confine_artifacts,
    .run = artifacts_main,
};
