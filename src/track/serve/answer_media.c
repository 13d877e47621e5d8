/*
 * answer_media - pictures, sounds, films and tables that runs kept by step
 */
#include "config.h"

#include <stdlib.h>

#include "common/output/emit.h"
#include "track/runs/media_file.h"
#include "track/serve/chosen.h"
#include "track/serve/file_kind.h"

enum { MOST_FILES = 5000 };

struct media_list {
    struct media_file *item;
    size_t n, room;
};

static void write_media(struct emit *o, const struct media_file *m,
                        const struct run_info *r, struct arena *mem)
{
    emit_object(o, NULL);
    emit_text(o, "kind", media_folders[m->kind]);
    emit_text(o, "key", m->key);
    emit_text(o, "run", r->id);
    emit_int(o, "step", m->step);
    emit_text(o, "path", m->path);
    emit_int(o, "bytes", m->size);
    emit_text(o, "type", file_kind_of(m->path)->name);
    emit_text(o, "caption", media_file_caption(m, r, mem));
    emit_object_end(o);
}

/* Write the media of a run, by key and step, *room at most. */
static int write_run(struct emit *o, const struct run_info *r, size_t *room,
                     struct err *e)
{
    struct media_list all = { 0 };
    struct file_tree files = { 0 };
    struct arena mem = { 0 };

    if (file_tree_list(&files, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    for (size_t i = 0; i < files.n; i++) {
        struct media_file m;

        if (!media_file_parse(&m, &files.file[i], &mem))
            continue;
        GROW(all.item, all.n, all.room);
        all.item[all.n++] = m;
    }
    if (all.n)
        qsort(all.item, all.n, sizeof *all.item, media_file_order);
    for (size_t i = 0; i < all.n && *room; i++, (*room)--)
        write_media(o, &all.item[i], r, &mem);
    free(all.item);
    file_tree_clear(&files);
    arena_clear(&mem);
    return 0;
}

int answer_media(struct site *s, struct query *q, struct answer *a,
                 struct err *e)
{
    struct emit o = { .b = &a->body };
    struct chosen chosen;
    size_t room = MOST_FILES;
    int ret = 0;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    emit_object(&o, NULL);
    emit_array(&o, "media");
    for (size_t i = 0; i < chosen.runs.n && ret == 0; i++)
        ret = write_run(&o, &chosen.runs.run[i], &room, e);
    emit_array_end(&o);
    emit_bool(&o, "whole", room > 0);
    emit_object_end(&o);
    chosen_close(&chosen);
    return ret;
}
