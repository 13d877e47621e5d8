#include "config.h"
#include "trainer/plan/plan_time.h"

#include "trainer/device/hardware.h"
#include "trainer/model/resolve.h"
#include "trainer/plan/plan_memory.h"

double plan_time_tokens(const struct settings *s)
{
    return (double)resolve_sequences_before(s, s->is.steps) *
           (double)s->model.context;
}

/* The table, and what its rows are computed from. */
struct time_rows {
    const struct plan_time *how;
    struct settings *set;
    const char *file;
    struct table *table;
};

/* Begin a row with its name, after that of the file. */
static void begin_row(const struct time_rows *p, const char *name)
{
    if (p->file)
        table_text(p->table, p->file);
    table_text(p->table, name);
}

static void add_hours(const struct time_rows *p, double hours, int devices)
{
    table_real(p->table, hours);
    table_real(p->table, hours * devices);
    if (p->how->has_price)
        table_real(p->table, hours * devices * p->how->price);
}

static void add_part(const struct time_rows *p, const struct hardware *h,
                     double part)
{
    struct settings *s = p->set;
    struct table *t = p->table;
    const int ranks = p->how->ranks;
    const double rate = h->tflops[s->train.precision] * 1e12;
    const double flops = 6 * (double)s->is.parameters * plan_time_tokens(s);

    begin_row(p, h->name);
    table_int(t, h->devices);
    table_real(t, h->tflops[s->train.precision]);
    table_real(t, part);
    add_hours(p, flops / rate / part / 3600, h->devices);
    table_real(t, h->gib);
    if (p->how->fit) {
        table_int(t, plan_memory_batch(s, ranks, h->gib));
        table_int(t, (int64_t)plan_memory_model(s, ranks, h->gib));
    }
    table_text(t, h->source);
}

/* One row for each MFU. */
static void add_hardware(const struct time_rows *p, const struct hardware *h)
{
    for (int i = 0; i < p->set->plan.mfu.n; i++)
        add_part(p, h, p->set->plan.mfu.x[i]);
}

static void add_step_time(const struct time_rows *p)
{
    const int ranks = p->how->ranks;
    struct table *t = p->table;

    begin_row(p, "this step time");
    table_int(t, ranks);
    table_none(t);
    table_none(t);
    add_hours(p, p->how->step_time * (double)p->set->is.steps / 3600, ranks);
    for (int i = 0; i < (p->how->fit ? 3 : 1); i++)
        table_none(t);
    table_text(t, "--step-time");
}

int plan_time_check(const struct settings *s, struct err *e)
{
    const char *more = s->plan.hardware;
    struct hardware h;
    char name[32];
    int got;

    while ((got = hardware_parse(&more, name, &h, e)) > 0)
        ;
    return got;
}

void plan_time_columns(const struct plan_time *how, struct table *t)
{
    table_columns(t, "hardware", "devices", "peak TFLOP/s", "MFU", "hours",
                  "device hours", NULL);
    if (how->has_price)
        table_column(t, "price");
    table_column(t, "GiB each");
    if (how->fit)
        table_columns(t, "micro-batch", "largest model", NULL);
    table_column(t, "source");
}

/* plan_time_check() has accepted the rows of plan.hardware. */
void plan_time_add(const struct plan_time *how, struct settings *s,
                   const char *file, struct table *t)
{
    const struct time_rows p = { how, s, file, t };
    const char *more = s->plan.hardware;
    struct err e = ERR_INIT;
    struct hardware h;
    char name[32];

    if (how->step_time > 0)
        add_step_time(&p);
    if (hardware_measure(&h, s))
        add_hardware(&p, &h);
    for (const struct hardware *row = hardware_table; row->name; row++)
        add_hardware(&p, row);
    while (hardware_parse(&more, name, &h, &e) > 0)
        add_hardware(&p, &h);
}
