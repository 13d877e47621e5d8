/*
 * gtrack note - print or write the note of a run
 *
 * A note is the tag that MLflow shows as the description of a run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "store/write/edit.h"
#include "track/runs/track.h"

static const char note_tag[] = "mlflow.note.content";

static const struct opt note_opts[] = { TRACK_OPT_ROOT, { 0 } };

static int print_note(const char *note, struct err *e)
{
    char *line = xasprintf("%s\n", note);
    const int ret = pager_data(line, strlen(line), e);

    free(line);
    return ret;
}

static char *read_note(struct err *e)
{
    enum { MOST = 1 << 20 };
    struct buf b = BUF_INIT;

    if (buf_read_open(&b, dup(STDIN_FILENO), "standard input", MOST, e) < 0) {
        buf_clear(&b);
        return NULL;
    }
    while (b.len && b.s[b.len - 1] == '\n')
        buf_trim(&b, b.len - 1);
    return b.len ? buf_detach(&b) : xstrdup("");
}

static int note_main(int argc, char **argv, struct err *e)
{
    struct runs runs = { 0 };
    int ret = 0;

    if (track_check_args(argc, argv, 1, 2, e) < 0 ||
        track_select_one(&runs, argv[0], LOAD_NO_METRICS, e) < 0)
        return -1;
    if (argc == 1) {
        const char *note = run_info_tag(&runs.run[0], note_tag);

        if (note)
            ret = print_note(note, e);
    } else {
        char *text =
            strcmp(argv[1], "-") == 0 ? read_note(e) : xstrdup(argv[1]);

        ret = text ? edit_tag(&runs.run[0], note_tag, *text ? text : NULL, e)
                   : -1;
        if (ret < 0)
            err_wrap(e, "run %s", runs.run[0].name);
        free(text);
    }
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_note = {
    .name = "note",
    .args = "RUN [TEXT|-]",
    .help = "print or write the note of a run",
    .opts = note_opts,
    .confine = track_confine_writer,
    .run = note_main,
};
