#include "config.h"
#include "trainer/checkpoint/checkpoint_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/path.h"
#include "store/format/chain.h"
#include "trainer/checkpoint/checkpoint_state.h"

static const char file_name[] = "checkpoints.sha256";

enum { SUMS_MAX = 256 << 20 };

static void add_line(struct buf *b, const char *sum, int64_t step,
                     const char *file)
{
    buf_printf(b, "%s  checkpoints/step-%08lld/%s\n", sum, (long long)step,
               file);
}

int checkpoint_sums_read(const char *folder, struct checkpoint_sums *sums,
                         struct err *e)
{
    if (checkpoint_state_sum(folder, PART_MODEL, sums->model, e) < 0)
        return -1;
    return checkpoint_state_sum(folder, PART_OPTIM, sums->optim, e);
}

static int sum_state(const char *folder, char sum[SHA256_TEXT], struct err *e)
{
    char *path = path_join(folder, "state.json");
    int64_t size;
    const int ret = sha256_file(path, sum, &size, e);

    free(path);
    return ret;
}

/* The file as it is; empty if there is none. */
static int read_sums(struct buf *text, const char *path, struct err *e)
{
    if (buf_read_unlinked(text, path, SUMS_MAX, e) == 0)
        return 0;
    if (e->kind != ERR_MISSING)
        return -1;
    *e = (struct err){ 0 };
    return 0;
}

/* What was logged before the checkpoint is in the files, and in its link. */
static int add_link(struct run *run, int64_t step, const char *weights,
                    struct err *e)
{
    char *path = run_artifact_path(run, CHAIN_FILE), head[SHA256_TEXT];
    struct buf text = BUF_INIT;
    int ret = path ? run_flush(run, e) : 0;

    if (path && ret == 0)
        ret = read_sums(&text, path, e);
    if (path && ret == 0)
        ret = chain_add(&text, run_folder(run), step, weights, head, e);
    if (path && ret == 0)
        ret = run_artifact(run, CHAIN_FILE, text.s, text.len, e);
    if (path && ret == 0) {
        run_tag(run, CHAIN_TAG, head);
        log_info("saved the checkpoint of step %lld; " CHAIN_LOG "%s",
                 (long long)step, head);
    }
    buf_clear(&text);
    free(path);
    return ret;
}

int checkpoint_sums_add(struct run *run, const char *folder, int64_t step,
                        struct err *e)
{
    struct checkpoint_sums sums;
    char state[SHA256_TEXT];
    char *path = run_artifact_path(run, file_name);
    struct buf text = BUF_INIT;
    int ret = checkpoint_sums_read(folder, &sums, e);

    if (ret == 0)
        ret = sum_state(folder, state, e);
    if (ret == 0 && !path)
        ret = err_set(e, ERR_SYSTEM, "cannot write %s", file_name);
    if (ret == 0)
        ret = read_sums(&text, path, e);
    while (text.len > 0 && text.s[text.len - 1] != '\n')
        buf_trim(&text, text.len - 1); /* a line that is not whole */
    if (ret == 0) {
        add_line(&text, sums.model, step, checkpoint_parts[PART_MODEL]);
        add_line(&text, sums.optim, step, checkpoint_parts[PART_OPTIM]);
        add_line(&text, state, step, "state.json");
        ret = run_artifact(run, file_name, text.s, text.len, e);
    }
    if (ret == 0)
        ret = add_link(run, step, sums.model, e);
    buf_clear(&text);
    free(path);
    return ret;
}

/* Where the last of these lines ends, or NULL. */
static const char *find_last(const struct buf *text, const char *tail)
{
    const char *at = text->s, *found = NULL;

    while (at && (at = strstr(at, tail))) {
        found = at;
        at += strlen(tail);
    }
    return found;
}

static bool find_sum(const struct buf *text, int64_t step, int part,
                     char out[SHA256_TEXT])
{
    struct buf tail = BUF_INIT;
    const char *end;

    add_line(&tail, "", step, checkpoint_parts[part]);
    end = find_last(text, tail.s);
    buf_clear(&tail);
    if (!end || end - text->s < SHA256_TEXT - 1)
        return false;
    memcpy(out, end - (SHA256_TEXT - 1), SHA256_TEXT - 1);
    out[SHA256_TEXT - 1] = '\0';
    return true;
}

int checkpoint_sums_find(const char *artifacts, int64_t step,
                         struct checkpoint_sums *sums, struct err *e)
{
    char *path = path_join(artifacts, file_name);
    struct buf text = BUF_INIT;
    int ret = buf_read_file(&text, path, SUMS_MAX, e);

    if (ret == 0 && (!find_sum(&text, step, PART_MODEL, sums->model) ||
                     !find_sum(&text, step, PART_OPTIM, sums->optim)))
        ret = err_set(e, ERR_MISSING, "%s has no sums of step %lld", path,
                      (long long)step);
    buf_clear(&text);
    free(path);
    return ret;
}

int checkpoint_sums_check(const char *artifacts, const char *folder,
                          int64_t step, struct err *e)
{
    char *path = path_join(artifacts, file_name);
    struct buf text = BUF_INIT, line = BUF_INIT;
    struct checkpoint_sums now;
    char then[SHA256_TEXT];
    int ret = read_sums(&text, path, e);

    if (ret == 0)
        ret = checkpoint_sums_read(folder, &now, e);
    for (int part = PART_MODEL; part <= PART_OPTIM && ret == 0; part++) {
        buf_trim(&line, 0);
        add_line(&line, part == PART_MODEL ? now.model : now.optim, step,
                 checkpoint_parts[part]);
        if (find_sum(&text, step, part, then) && !strstr(text.s, line.s))
            ret = err_set(e, ERR_INPUT,
                          "%s is not a checkpoint that this run wrote: %s has "
                          "other sums of step %lld; to use it all the same, "
                          "name its folder instead of the run",
                          folder, path, (long long)step);
    }
    buf_clear(&text);
    buf_clear(&line);
    free(path);
    return ret;
}

/* The step that a line is about, if it has the sum of the weights; or 0. */
static int64_t step_of_line(const char *line)
{
    long long step = 0;
    int end = 0;

    sscanf(line, "%*64[0-9a-f]  checkpoints/step-%lld/model.%n", &step, &end);
    return end > 0 ? step : 0;
}

static bool is_same(const struct buf *a, const struct buf *b, int64_t step,
                    bool *both)
{
    char x[SHA256_TEXT], y[SHA256_TEXT];
    bool same = true;

    *both = true;
    for (int part = PART_MODEL; part <= PART_OPTIM; part++) {
        *both =
            *both && find_sum(a, step, part, x) && find_sum(b, step, part, y);
        same = same && *both && strcmp(x, y) == 0;
    }
    return same;
}

int checkpoint_sums_compare(const char *artifacts, const char *others,
                            int64_t last, struct checkpoint_sums_pair *pair,
                            struct err *e)
{
    char *path = path_join(artifacts, file_name);
    char *other = path_join(others, file_name);
    struct buf a = BUF_INIT, b = BUF_INIT;
    int ret = read_sums(&a, path, e);
    bool both = false;

    *pair = (struct checkpoint_sums_pair){ 0 };
    if (ret == 0)
        ret = read_sums(&b, other, e);
    for (const char *line = a.s; ret == 0 && *line;
         line = strchrnul(line, '\n'), line += *line == '\n') {
        const int64_t step = step_of_line(line);
        const bool same = step > 0 && is_same(&a, &b, step, &both);

        if (same && step <= last && step > pair->same)
            pair->same = step;
        if (step > 0 && both && !same &&
            (pair->differs == 0 || step < pair->differs))
            pair->differs = step;
    }
    buf_clear(&a);
    buf_clear(&b);
    FREE(path, other);
    return ret;
}
