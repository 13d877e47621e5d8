/*
 * gtrack tag - list, set or delete tags of runs
 */
#include "config.h"

#include "common/opt.h"
#include "store/write/edit.h"
#include "track/runs/track.h"

static struct opt_list deleted;
static struct table_style style;

static const struct opt tag_opts[] = {
    TRACK_OPT_ROOT,
    { 'D', "delete", "key", OPT_LIST, &deleted,
      "delete this tag; may be given many times" },
    TABLE_OPTS(style),
    { 0 }
};

static int set_tags(const struct run_info *r, void *arg, struct err *e)
{
    for (const struct pair *p = arg; p->key; p++)
        if (edit_tag(r, p->key, p->value, e) < 0)
            return -1;
    for (size_t i = 0; i < deleted.n; i++)
        if (edit_tag(r, deleted.item[i], NULL, e) < 0)
            return -1;
    return 0;
}

static int add_tags(const struct run_info *r, void *arg, struct err *e)
{
    struct table *t = arg;

    (void)e;
    for (size_t i = 0; i < r->n_tags; i++) {
        table_text(t, r->name);
        table_text(t, r->tags[i].key);
        table_text(t, r->tags[i].value);
    }
    return 0;
}

static int list_tags(char **words, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.tag/1");
    int ret;

    table_columns(&t, "run", "tag", "value", NULL);
    ret = track_each(1, words, 0, add_tags, &t, e);
    return table_finish(&t, ret, &style, e);
}

static int tag_main(int argc, char **argv, struct err *e)
{
    struct arena mem = { 0 };
    struct pair *pairs;
    int ret = -1;

    if (track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    if (argc == 1 && !deleted.n)
        return list_tags(argv, e);
    pairs = track_parse_pairs(&mem, (const char *const *)argv + 1,
                              (size_t)argc - 1, e);
    if (pairs)
        ret = track_each(1, argv, LOAD_ONE_NAMED, set_tags, pairs, e);
    arena_clear(&mem);
    return ret;
}

const struct cmd cmd_tag = {
    .name = "tag",
    .args = "RUN|FILTER [KEY=VALUE]...",
    .help = "list, set or delete tags",
    .opts = tag_opts,
    .confine = track_confine_writer,
    .run = tag_main,
};
