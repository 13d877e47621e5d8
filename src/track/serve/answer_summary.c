/*
 * answer_summary - what a report says of runs: the best one, where they come
 * from, their commands, and a sample
 */
#include "config.h"

#include "common/output/table.h"
#include "track/report/report.h"
#include "track/serve/chosen.h"

int answer_summary(struct site *s, struct query *q, struct answer *a,
                   struct err *e)
{
    struct emit *const o = &a->out;
    struct buf best = BUF_INIT, commands = BUF_INIT, sample = BUF_INIT;
    struct table origin = TABLE_INIT("");
    struct arena mem = { 0 };
    struct run_set set;
    struct chosen chosen;
    const struct runs *runs = &chosen.runs;
    size_t at;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    run_set_init(&set, runs->run, runs->n, &mem);
    at = runs->n ? facts_best(&set, &best) : 0;
    if (at < runs->n)
        facts_sample(&runs->run[at], &sample);
    facts_commands(&set, &commands);
    emit_text(o, "best", best.len ? best.s : NULL);
    facts_table(&set, &origin);
    site_write_table(o, "origin", &origin, false);
    emit_text(o, "commands", commands.len ? commands.s : NULL);
    emit_text(o, "sample", sample.len ? sample.s : NULL);
    buf_clear(&best);
    buf_clear(&commands);
    buf_clear(&sample);
    table_clear(&origin);
    arena_clear(&mem);
    chosen_close(&chosen);
    return 0;
}
