/*
 * answer_diff - what differs between two runs, as gtrack diff prints it
 */
#include "config.h"

#include "track/runs/diff_table.h"
#include "track/serve/site.h"

int answer_diff(struct site *s, struct query *q, struct answer *ans,
                struct err *e)
{
    const struct live *l = site_store(s, q, e);
    const struct run_info *a = l ? site_run(s, q, "a", e) : NULL;
    const struct run_info *b = a ? site_run(s, q, "b", e) : NULL;
    struct emit o = { .b = &ans->body };
    struct table t = TABLE_INIT("");
    struct buf command = BUF_INIT;

    if (!b)
        return -1;
    buf_str(&command, "gtrack diff");
    site_run_word(&command, l, a);
    site_run_word(&command, l, b);
    site_root_option(&command, l);
    diff_table_fill(&t, a, b, DIFF_LINES);
    emit_object(&o, NULL);
    emit_text(&o, "command", command.s);
    site_write_table(&o, "rows", &t, true);
    emit_object_end(&o);
    table_clear(&t);
    buf_clear(&command);
    return 0;
}
