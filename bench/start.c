/*
 * start - write the initial weights and the windows of a run for other programs
 *
 * usage: start DIR CONFIG [section.key=value]...
 *
 * Makes the folder DIR and writes a checkpoint of the initial weights to it
 * (model.safetensors, config.ini), and the windows of all steps and of one
 * validation (train.i32 and val.i32: rows of context + 1 native int32).
 * torch_twin.py then trains on the same numbers as gtrain with these settings.
 */
#include "config.h"
#include "trainer/checkpoint/checkpoint_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "trainer/model/resolve.h"

static int write_windows(const char *folder, const char *name,
                         struct mixture *from, int64_t count, int64_t T,
                         struct err *e)
{
    char *path = path_join(folder, name);
    int32_t *x = xcalloc((size_t)T, sizeof *x);
    int32_t *y = xcalloc((size_t)T, sizeof *y);
    struct save s = { 0 };
    int ret = save_open(&s, path, e);

    for (int64_t w = 0; ret == 0 && w < count; w++) {
        ret = mixture_get(from, w, 1, x, y, e);
        fwrite(x, sizeof *x, 1, s.fp);
        fwrite(y, sizeof *y, (size_t)T, s.fp);
    }
    if (ret == 0)
        ret = save_commit(&s, e);
    save_abandon(&s);
    free(x);
    free(y);
    free(path);
    return ret;
}

static int write_all(struct engine *eng, const char *folder, struct err *e)
{
    const int64_t T = eng->set->model.context, limit = eng->set->eval.sequences;
    const int64_t steps =
        resolve_sequences_before(eng->set, eng->set->is.stop_at);
    int64_t val =
        eng->data.val ? loader_windows(mixture_loader(eng->data.val, 0)) : 0;
    struct checkpoint_copy s = { 0 };
    int ret;

    if (limit && (limit < val || eng->set->eval.random))
        val = limit;
    ret = checkpoint_copy_take(&s, eng, "", e);
    if (ret == 0)
        ret = checkpoint_write(&s, folder, e);
    checkpoint_copy_clear(&s);
    if (ret == 0)
        ret = write_windows(folder, "train.i32", eng->data.train, steps, T, e);
    if (ret == 0 && eng->data.val)
        ret = write_windows(folder, "val.i32", eng->data.val, val, T, e);
    return ret;
}

int main(int argc, char **argv)
{
    struct settings set = { 0 };
    struct err e = { 0 };
    struct engine eng = { 0 };
    int ret = -1;

    if (argc < 3) {
        fprintf(stderr, "usage: start DIR CONFIG [section.key=value]...\n");
        return 2;
    }
    if (settings_load(&set, argv[2], (const char *const *)argv + 3,
                      (size_t)argc - 3, &e) == 0 &&
        engine_open(&eng, &set, ENGINE_TRAIN, &e) == 0)
        ret = write_all(&eng, argv[1], &e);
    engine_close(&eng);
    settings_clear(&set);
    if (ret < 0)
        fprintf(stderr, "start: %s\n", e.text);
    return ret < 0;
}
