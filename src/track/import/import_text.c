/*
 * import_text - import logs of llm.c and nanoGPT, and JSON Lines
 */
#include "config.h"
#include "track/import/import.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "store/format/store.h"

typedef int line_fn(struct import_run *, char *line, int64_t ms, void *arg,
                    struct err *);

/* Call a function for each line of a file, without its newline. */
static int read_lines(struct import_run *in, const char *path, line_fn *fn,
                      void *arg, struct err *e)
{
    AUTO(path_fclose) FILE *fp = fopen(path, "re");
    const int64_t ms = import_mtime(path);
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    long number = 0;
    int ret = 0;

    if (!fp)
        return err_open(e, "cannot read %s", path);
    while (ret == 0 && getline(&line, &room, fp) >= 0 && !ferror(fp)) {
        number++;
        line[strcspn(line, "\r\n")] = '\0';
        ret = fn(in, line, ms, arg, e);
    }
    if (ret < 0)
        return err_wrap(e, "%s:%ld", path, number);
    return ferror(fp) ? err_sys(e, "cannot read %s", path) : ret;
}

static int import_lines(struct import *import, line_fn *fn, struct err *e)
{
    struct import_run in;
    int64_t last = INT64_MIN;
    int ret;

    import_run_init(&in, store_absolute(import->path));
    ret = read_lines(&in, import->path, fn, &last, e);
    return import_run_end(&in, import, ret, e);
}

/* The log of a resumed job steps back to where it was resumed. */
static void begin_step(struct import_run *in, int64_t step, int64_t *last)
{
    if (step < *last)
        import_run_rewind(in, step);
    *last = step;
}

/*
 * llm.c's main.log (llmc/logger.h), whose accuracy on HellaSwag compares
 * the endings' losses divided by their lengths:
 *      s:250 tel:6.4500
 *      s:250 eval:0.2463
 *      s:251 trl:6.3905 lr:0.000214 norm:1.20
 */
static int read_llmc_line(struct import_run *in, char *line, int64_t ms,
                          void *arg, struct err *e UNUSED)
{
    static const struct {
        const char *word, *key;
    } words[] = {
        { "tel", "val/loss" },
        { "trl", "train/loss" },
        { "lr", "train/lr" },
        { "norm", "train/grad_norm" },
        { "hel", "hellaswag/acc_norm" },
        { "eval", "hellaswag/acc_norm" },
    };
    char *at = line, *word;
    int64_t step = -1;

    while ((word = strsep(&at, " "))) {
        char *colon = strchr(word, ':');
        double x;

        if (!colon || !num_real(colon + 1, &x))
            continue;
        *colon = '\0';
        if (strcmp(word, "s") == 0 && x == floor(x)) {
            step = num_whole(x);
            begin_step(in, step, arg);
            continue;
        }
        for (size_t i = 0; step >= 0 && i < sizeof words / sizeof words[0]; i++)
            if (strcmp(word, words[i].word) == 0)
                import_run_point(in, words[i].key, step, ms, x);
    }
    return 0;
}

int import_llmc(struct import *import, struct err *e)
{
    return import_lines(import, read_llmc_line, e);
}

/* The number after a word in a line; NaN if there is none. */
static double find_number(const char *line, const char *word)
{
    const char *p = strstr(line, word);
    char text[64];
    double x = (double)NAN;
    size_t n;

    if (!p)
        return x;
    p += strlen(word);
    p += strspn(p, " :=|");
    n = strcspn(p, " ,|\t%");
    if (n == 0 || n >= sizeof text)
        return x;
    memcpy(text, p, n);
    text[n] = '\0';
    if (n > 2 && strcmp(text + n - 2, "ms") == 0)
        text[n - 2] = '\0';
    num_real(text, &x);
    return x;
}

struct phrase {
    const char *word, *key;
    double scale;
};

/* Add the numbers after phrases, the last of which has no word. */
static void add_phrases(struct import_run *in, const char *line, int64_t step,
                        int64_t ms, const struct phrase *p)
{
    for (; p->word; p++) {
        const double x = find_number(line, p->word);

        if (!strstr(line, p->word) || (isnan(x) && !strcasestr(line, "nan")))
            continue;
        import_run_point(in, p->key, step, ms, x * p->scale);
    }
}

/*
 * nanoGPT's output, and build-nanogpt's output and log.txt, which gtrain writes
 * too:
 *      step 250: train loss 2.4431, val loss 2.4612
 *      iter 250: loss 2.4350, time 97.03ms, mfu 3.84%
 *      step    10 | loss: 9.51 | lr 9.2e-06 | norm: 3.1 | ... | tok/sec: 1589
 *      step:   10 | loss: 9.51 | lr 9.2e-06 | norm: 3.1 | ... | tok/sec: 1589
 *      250 val 6.1270
 *      250 hella 0.2463
 *      251 train 6.0912
 */
static int read_nanogpt_line(struct import_run *in, char *line, int64_t ms,
                             void *arg, struct err *e UNUSED)
{
    static const struct phrase iter[] = {
        { ": loss", "train/loss", 1 },
        { "time", "perf/step_ms", 1 },
        { "mfu", "perf/mfu", 0.01 },
        { NULL },
    };
    static const struct phrase eval[] = {
        { "train loss", "eval/train_loss", 1 },
        { "val loss", "val/loss", 1 },
        { NULL },
    };
    static const struct phrase piped[] = {
        { "loss", "train/loss", 1 },           { "lr", "train/lr", 1 },
        { "norm", "train/grad_norm", 1 },      { "dt", "perf/step_ms", 1 },
        { "tok/sec", "perf/tokens_per_s", 1 }, { NULL },
    };
    static const struct phrase plain[] = {
        { " train ", "train/loss", 1 },
        { " val ", "val/loss", 1 },
        { " hella ", "hellaswag/acc_norm", 1 },
        { NULL },
    };
    const struct phrase *phrases = NULL;
    long long step;
    int n = 0;

    if (sscanf(line, "iter %lld%n", &step, &n) == 1 && line[n] == ':')
        phrases = iter;
    else if (sscanf(line, "step %lld%n", &step, &n) == 1 && line[n] == ':')
        phrases = eval;
    else if ((sscanf(line, "step %lld %n", &step, &n) == 1 ||
              sscanf(line, "step: %lld %n", &step, &n) == 1) &&
             line[n] == '|')
        phrases = piped;
    else if (sscanf(line, "%lld%n", &step, &n) == 1 && line[n] == ' ')
        phrases = plain;
    if (phrases) {
        begin_step(in, step, arg);
        add_phrases(in, line, step, ms, phrases);
    }
    return 0;
}

int import_nanogpt(struct import *import, struct err *e)
{
    return import_lines(import, read_nanogpt_line, e);
}

/* -- JSON Lines, as gtrack export writes them ------------------------------ */

struct jsonl {
    struct import *import;
    struct import_run in;
    bool open;
    int64_t start_ms, end_ms; /* of the run; points may lie outside */
};

static int finish_run(struct jsonl *j, int ret, struct err *e)
{
    if (!j->open)
        return ret;
    j->open = false;
    if (j->start_ms)
        j->in.start_ms = j->start_ms;
    if (j->end_ms)
        j->in.end_ms = j->end_ms;
    return import_run_end(&j->in, j->import, ret, e);
}

typedef void set_pair_fn(struct import_run *, const char *, const char *);

static void set_pairs(struct import_run *in, json_t *object, set_pair_fn *set)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value) if (json_is_string(value))
        set(in, key, json_string_value(value));
}

static int begin_run(struct jsonl *j, json_t *o, struct err *e)
{
    const char *id = json_string_value(json_object_get(o, "id"));
    const char *status = json_string_value(json_object_get(o, "status"));
    const char *reason = json_string_value(json_object_get(o, "reason"));

    if (!id)
        return err_input(e, "the run has no id");
    if (finish_run(j, 0, e) < 0)
        return -1;
    import_run_init(&j->in, xasprintf("run %s", id));
    j->open = true;
    import_run_name(&j->in, json_string_value(json_object_get(o, "name")));
    import_run_experiment(&j->in,
                          json_string_value(json_object_get(o, "experiment")));
    set_pairs(&j->in, json_object_get(o, "params"), import_run_param);
    set_pairs(&j->in, json_object_get(o, "tags"), import_run_tag);
    if (reason)
        import_run_tag(&j->in, "gtrack.reason", reason);
    for (int s = RUN_RUNNING; status && s <= RUN_STALE; s++)
        if (strcmp(status, run_status_word((enum run_status)s)) == 0)
            j->in.status = (enum run_status)s;
    if (j->in.status == RUN_STALE || j->in.status == RUN_RUNNING)
        j->in.status = RUN_KILLED; /* no process writes it here */
    j->start_ms = json_integer_value(json_object_get(o, "start_ms"));
    j->end_ms = json_integer_value(json_object_get(o, "end_ms"));
    return 0;
}

static int read_jsonl_line(struct import_run *in UNUSED, char *line, int64_t ms,
                           void *arg, struct err *e)
{
    struct jsonl *j = arg;
    json_error_t where;
    json_auto_t *o = json_loads(line, 0, &where);
    json_t *value;
    const char *type, *key;
    double x;
    int ret = 0;

    if (!*line)
        return 0;
    if (!json_is_object(o))
        return err_input(e, "expected a JSON object: %s", where.text);
    type = json_string_value(json_object_get(o, "type"));
    key = json_string_value(json_object_get(o, "metric"));
    value = json_object_get(o, "value");
    x = json_number_value(value);
    if (type && strcmp(type, "run") == 0) {
        ret = begin_run(j, o, e);
    } else if (type && strcmp(type, "point") == 0 && key && j->open &&
               (json_is_number(value) ||
                (json_is_string(value) &&
                 num_real(json_string_value(value), &x)))) {
        json_t *t = json_object_get(o, "time_ms");

        import_run_point(&j->in, key,
                         json_integer_value(json_object_get(o, "step")),
                         json_is_integer(t) ? json_integer_value(t) : ms, x);
    } else {
        ret = err_input(e, "expected a run or a point of a run; "
                           "use 'gtrack log' for other JSON Lines");
    }
    return ret;
}

int import_jsonl(struct import *import, struct err *e)
{
    struct jsonl j = { .import = import };
    int ret = read_lines(NULL, import->path, read_jsonl_line, &j, e);

    if (ret == 0 && !j.open)
        ret = err_input(e, "%s has no runs", import->path);
    return finish_run(&j, ret, e);
}
