/*
 * answer_media - pictures, sounds, films and tables that runs kept by step
 */
#include "config.h"

#include "track/runs/media_file.h"
#include "track/serve/chosen.h"
#include "track/serve/file_kind.h"

/* Write the media of a run, *room at most. */
static int write_run(struct emit *o, const struct run_info *r, size_t *room,
                     struct err *e)
{
    struct file_tree files = { 0 };
    struct arena mem = { 0 };
    struct media_file m;

    if (file_tree_list(&files, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    for (size_t i = 0; i < files.n && *room; i++) {
        if (!media_file_parse(&m, &files.file[i], &mem))
            continue;
        emit_object(o, NULL);
        emit_text(o, "kind", media_folders[m.kind]);
        emit_text(o, "key", m.key);
        emit_text(o, "run", r->id);
        emit_int(o, "step", m.step);
        emit_int(o, "number", m.number);
        emit_text(o, "path", m.path);
        emit_int(o, "bytes", m.size);
        emit_text(o, "type", file_kind_of(m.path)->name);
        emit_text(o, "caption", media_file_caption(&m, r, &mem));
        emit_object_end(o);
        (*room)--;
    }
    file_tree_clear(&files);
    arena_clear(&mem);
    return 0;
}

int answer_media(struct site *s, struct query *q, struct answer *a,
                 struct err *e)
{
    struct emit *const o = &a->out;
    struct chosen chosen;
    size_t room = 5000;
    int ret = 0;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    emit_array(o, "media");
    for (size_t i = 0; i < chosen.runs.n && ret == 0; i++)
        ret = write_run(o, &chosen.runs.run[i], &room, e);
    emit_array_end(o);
    emit_bool(o, "whole", room > 0);
    chosen_close(&chosen);
    return ret;
}
