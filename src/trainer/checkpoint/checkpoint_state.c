#include "config.h"
#include "trainer/checkpoint/checkpoint_state.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/chain.h"
#include "store/format/store.h"

const char *const checkpoint_parts[] = { [PART_MODEL] = "model.safetensors",
                                         [PART_OPTIM] = "optim.safetensors",
                                         [PART_CONFIG] = "config.ini",
                                         NULL };

enum { STATE_MAX = 1 << 20 };

#define AT(member) offsetof(struct engine, member)

/* The whole numbers of struct engine_state, and the steps of the optimiser. */
static const struct {
    const char *key;
    size_t at;
} counts[] = {
    { "step", AT(state.step) },
    { "tokens", AT(state.tokens) },
    { "updates", AT(state.updates) },
    { "skipped", AT(state.skipped) },
    { "best_step", AT(state.best_step) },
    { "bad_evals", AT(state.bad_evals) },
    { "good_steps", AT(state.good_steps) },
    { "optimizer_steps", AT(optim.steps) },
};

enum { COUNTS = sizeof counts / sizeof counts[0] };

/* The bits of enum engine_due. */
static const char *const dues[] = { "val_due", "tasks_due", "samples_due" };

enum { DUES = sizeof dues / sizeof dues[0] };

/* ---- checksums -------------------------------------------------------- */

/* Size and SHA-256 of a file, as state.json has them. */
static json_t *describe_file(const char *path, struct err *e)
{
    char sum[SHA256_TEXT];
    int64_t bytes;

    if (sha256_file(path, sum, &bytes, e) < 0)
        return NULL;
    return json_pack("{s:I, s:s}", "bytes", (json_int_t)bytes, "sha256", sum);
}

/* The SHA-256 of everything in a state but that very member. */
static void sum_state(const json_t *state, char out[SHA256_TEXT])
{
    json_auto_t *rest = json_copy((json_t *)(uintptr_t)state);
    AUTO_FREE char *text = NULL;

    json_object_del(rest, "sha256");
    text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
    sha256_of(text, strlen(text), out);
}

static int damaged(const char *path, struct err *e)
{
    return err_input(e, "%s is damaged: its SHA-256 is not the one recorded",
                     path);
}

/* ---- writing ---------------------------------------------------------- */

static json_t *pack_numbers(const double *x, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_real(x[i]));
    return list;
}

/* The newest of them, at most `most`; returns how many. */
static int unpack_numbers(const json_t *list, double *x, int most)
{
    const int all = (int)json_array_size(list), n = all < most ? all : most;

    for (int i = 0; i < n; i++)
        x[i] = json_number_value(json_array_get(list, (size_t)(all - n + i)));
    return n;
}

/* How many sequences of each source with a name training has read. */
static json_t *pack_sources(const struct engine *eng)
{
    struct mixture *m = eng->data.train;
    const int64_t n = engine_sequences(eng);
    json_t *o = json_object();

    for (size_t k = 0; k < mixture_sources(m); k++)
        if (*mixture_name(m, k))
            json_object_set_new(o, mixture_name(m, k),
                                json_integer(mixture_count(m, k, n)));
    return o;
}

char *checkpoint_state_text(const struct engine *eng, const char *run_id)
{
    const struct engine_state *s = &eng->state;
    json_auto_t *o = json_pack("{s:i, s:f, s:f, s:s}", "format", 1, "seconds",
                               engine_seconds(eng), "loss_scale", s->loss_scale,
                               "run_id", run_id);

    for (int i = 0; i < COUNTS; i++) {
        const int64_t *n = (const void *)((const char *)eng + counts[i].at);

        json_object_set_new(o, counts[i].key, json_integer(*n));
    }
    if (isfinite(s->best_loss))
        json_object_set_new(o, "best_loss", json_real(s->best_loss));
    if (s->noise[1] != 0.0)
        json_object_set_new(o, "noise", pack_numbers(s->noise, 2));
    for (int i = 0; i < DUES; i++)
        if (s->due >> i & 1)
            json_object_set_new(o, dues[i], json_true());
    if (eng->set->train.on_spike != POLICY_IGNORE) {
        const int n = eng->recent.n;

        json_object_set_new(o, "recent_losses",
                            pack_numbers(eng->recent.loss, n));
        json_object_set_new(o, "recent_norms",
                            pack_numbers(eng->recent.norm, n));
    }
    if (eng->recent.skips > 0)
        json_object_set_new(o, "skips", json_integer(eng->recent.skips));
    if (eng->data.train) {
        json_object_set_new(o, "data",
                            json_string(mixture_hash(eng->data.train)));
        if (*mixture_name(eng->data.train, 0))
            json_object_set_new(o, "sources", pack_sources(eng));
    }
    if (eng->data.teacher.k)
        json_object_set_new(o, "teacher", json_string(eng->data.teacher.sum));
    if (eng->data.tokenizer)
        json_object_set_new(o, "tokenizer",
                            json_string(tokenizer_hash(eng->data.tokenizer)));
    if (*str_or_empty(eng->data.chat))
        json_object_set_new(o, "chat", json_string(eng->data.chat));
    return json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS);
}

int checkpoint_state_write(const char *text, const char *folder, struct err *e)
{
    json_auto_t *state = json_loads(text, 0, NULL);
    json_t *files = json_object();
    AUTO_FREE char *path = path_join(folder, "state.json"), *whole = NULL;
    char sum[SHA256_TEXT];
    int ret = 0;

    for (int i = 0; checkpoint_parts[i] && ret == 0; i++) {
        AUTO_FREE char *part = path_join(folder, checkpoint_parts[i]);
        json_t *file = describe_file(part, e);

        ret = file ? json_object_set_new(files, checkpoint_parts[i], file) : -1;
    }
    json_object_set_new(state, "files", files);
    sum_state(state, sum);
    json_object_set_new(state, "sha256", json_string(sum));
    whole = json_dumps(state, JSON_INDENT(1) | JSON_SORT_KEYS);
    return ret < 0
               ? -1
               : store_write(path, path, whole, strlen(whole), true, NULL, e);
}

/* ---- reading ---------------------------------------------------------- */

static bool is_whole(const json_t *state)
{
    const char *want = json_string_value(json_object_get(state, "sha256"));
    char is[SHA256_TEXT];

    sum_state(state, is);
    return want && strcmp(want, is) == 0;
}

static json_t *read_state(const char *folder, struct err *e)
{
    AUTO_FREE char *path = path_join(folder, "state.json");
    AUTO(buf_clear) struct buf text = BUF_INIT;
    json_t *o = NULL;
    int ret = buf_read_file(&text, path, STATE_MAX, e);

    if (ret == 0) {
        o = json_loadb(text.s, text.len, 0, NULL);
        if (json_integer_value(json_object_get(o, "format")) != 1)
            ret = err_input(e, "%s is not the state of a checkpoint", path);
        else if (!is_whole(o))
            ret = damaged(path, e);
    }
    if (ret < 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static int check_file(const char *path, const json_t *want, struct err *e)
{
    json_auto_t *is = describe_file(path, e);
    int ret = is ? 0 : -1;

    if (is && !json_equal(is, want))
        ret = damaged(path, e);
    return ret;
}

int checkpoint_verify(const char *folder, struct err *e)
{
    json_auto_t *state = read_state(folder, e);
    const json_t *files = json_object_get(state, "files");
    int ret = state ? 0 : -1;

    for (int i = 0; checkpoint_parts[i] && ret == 0; i++) {
        AUTO_FREE char *part = path_join(folder, checkpoint_parts[i]);

        ret = check_file(part, json_object_get(files, checkpoint_parts[i]), e);
    }
    return ret;
}

int checkpoint_state_sum(const char *folder, int part, char out[SHA256_TEXT],
                         struct err *e)
{
    json_auto_t *state = read_state(folder, e);
    const char *sum = "";

    json_unpack(state, "{s:{s:{s:s}}}", "files", checkpoint_parts[part],
                "sha256", &sum);
    snprintf(out, SHA256_TEXT, "%s", sum);
    return state ? 0 : -1;
}

int checkpoint_text(const char *folder, const char *key, char **text,
                    struct err *e)
{
    json_auto_t *state = read_state(folder, e);
    const char *found = json_string_value(json_object_get(state, key));

    *text = state ? xstrdup(str_or_empty(found)) : NULL;
    return state ? 0 : -1;
}

static int check_hash(const json_t *o, const char *key, const char *now,
                      const char *what, struct err *e)
{
    const char *then = json_string_value(json_object_get(o, key));

    if (then && strcmp(then, now) != 0)
        return err_input(e,
                         "%s is not what the checkpoint was made with: its "
                         "SHA-256 is %.12s, not %.12s",
                         what, now, then);
    return 0;
}

/* Shares may change only in steps to come: with others before, sequences would
 * be read twice or never.  Where they change, a source may be one sequence
 * ahead, because it was not known that they would. */
static int check_sources(const json_t *o, const struct engine *eng,
                         struct err *e)
{
    const json_t *then = json_object_get(o, "sources");
    json_t *now = pack_sources(eng), *count;
    const char *name;
    json_int_t sum = 0;
    int ret = 0;

    json_object_foreach(now, name, count) sum +=
        json_integer_value(json_object_get(then, name));
    json_object_foreach(now, name, count)
    {
        const json_int_t was = json_integer_value(json_object_get(then, name));
        const json_int_t is = json_integer_value(count);

        /* with another batch, steps are not where they were */
        if (ret < 0 || sum != engine_sequences(eng) || llabs(is - was) <= 1)
            continue;
        ret = err_input(e,
                        "training has read %lld sequences of %s, but by "
                        "data.train it would be %lld; change shares from step "
                        "%lld on, by from= and until=",
                        (long long)was, name, (long long)is,
                        (long long)eng->state.step);
    }
    json_decref(now);
    return ret;
}

void checkpoint_state_compare(const char *folder, const struct engine *eng)
{
    struct err e = { 0 };
    json_auto_t *o = eng->data.tokenizer ? read_state(folder, &e) : NULL;

    if (o && check_hash(o, "tokenizer", tokenizer_hash(eng->data.tokenizer),
                        "data.tokenizer", &e) < 0)
        log_warn("%s: %s", folder, e.text);
}

static double get_real(const json_t *o, const char *key, double otherwise)
{
    const json_t *x = json_object_get(o, key);

    return x ? json_number_value(x) : otherwise;
}

int checkpoint_settings(struct settings *s, const char *folder, struct err *e)
{
    AUTO_FREE char *path = path_join(folder, checkpoint_parts[PART_CONFIG]);

    return settings_begin(s, path, e);
}

/* Only fp16 has a loss scale; other checkpoints, and imported models, say 1. */
static bool has_loss_scale(const char *folder)
{
    AUTO(settings_clear) struct settings s = { 0 };

    return checkpoint_settings(&s, folder, ERR_IGNORED) < 0 ||
           s.train.precision == PRECISION_FP16;
}

int checkpoint_state_steps(const char *folder, struct engine *eng,
                           struct err *e)
{
    json_auto_t *o = read_state(folder, e);

    eng->optim.steps =
        json_integer_value(json_object_get(o, "optimizer_steps"));
    return o ? 0 : -1;
}

int checkpoint_state_load(const char *folder, struct engine *eng, struct err *e)
{
    json_auto_t *o = read_state(folder, e);
    int ret = o ? 0 : -1;

    if (ret == 0 && eng->data.tokenizer)
        ret = check_hash(o, "tokenizer", tokenizer_hash(eng->data.tokenizer),
                         "data.tokenizer", e);
    if (ret == 0 && eng->data.train)
        ret = check_hash(o, "data", mixture_hash(eng->data.train), "data.train",
                         e);
    if (ret == 0 && eng->data.teacher.k)
        ret =
            check_hash(o, "teacher", eng->data.teacher.sum, "train.teacher", e);
    if (ret == 0) {
        const double scale = eng->state.loss_scale;

        eng->state = (struct engine_state){
            .seconds = get_real(o, "seconds", 0),
            .loss_scale = get_real(o, "loss_scale", 0),
            .best_loss = get_real(o, "best_loss", (double)INFINITY),
        };
        for (int i = 0; i < DUES; i++)
            eng->state.due |= json_is_true(json_object_get(o, dues[i])) << i;
        for (int i = 0; i < COUNTS; i++) {
            int64_t *n = (void *)((char *)eng + counts[i].at);

            *n = json_integer_value(json_object_get(o, counts[i].key));
        }
        unpack_numbers(json_object_get(o, "noise"), eng->state.noise, 2);
        eng->recent.n =
            unpack_numbers(json_object_get(o, "recent_losses"),
                           eng->recent.loss, (int)eng->set->train.spike_window);
        unpack_numbers(json_object_get(o, "recent_norms"), eng->recent.norm,
                       eng->recent.n);
        eng->recent.skips = json_integer_value(json_object_get(o, "skips"));
        if (eng->set->train.precision != PRECISION_FP16 ||
            !has_loss_scale(folder)) {
            eng->state.loss_scale = scale;
            eng->state.good_steps = 0;
        }
    }
    if (ret == 0 && eng->data.train)
        ret = check_sources(o, eng, e);
    return ret;
}

/* ---- the sums of a run -------------------------------------------------- */

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

static int sum_state_file(const char *folder, char sum[SHA256_TEXT],
                          struct err *e)
{
    AUTO_FREE char *path = path_join(folder, "state.json");
    int64_t size;

    return sha256_file(path, sum, &size, e);
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
    AUTO(buf_clear) struct buf text = BUF_INIT;
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
    free(path);
    return ret;
}

int checkpoint_sums_add(struct run *run, const char *folder, int64_t step,
                        struct err *e)
{
    struct checkpoint_sums sums;
    char state[SHA256_TEXT];
    AUTO_FREE char *path = run_artifact_path(run, file_name);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int ret = checkpoint_sums_read(folder, &sums, e);

    if (ret == 0)
        ret = sum_state_file(folder, state, e);
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
    AUTO(buf_clear) struct buf tail = BUF_INIT;
    const char *end;

    add_line(&tail, "", step, checkpoint_parts[part]);
    end = find_last(text, tail.s);
    if (!end || end - text->s < SHA256_TEXT - 1)
        return false;
    memcpy(out, end - (SHA256_TEXT - 1), SHA256_TEXT - 1);
    out[SHA256_TEXT - 1] = '\0';
    return true;
}

int checkpoint_sums_find(const char *artifacts, int64_t step,
                         struct checkpoint_sums *sums, struct err *e)
{
    AUTO_FREE char *path = path_join(artifacts, file_name);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int ret = buf_read_file(&text, path, SUMS_MAX, e);

    if (ret == 0 && (!find_sum(&text, step, PART_MODEL, sums->model) ||
                     !find_sum(&text, step, PART_OPTIM, sums->optim)))
        ret = err_set(e, ERR_MISSING, "%s has no sums of step %lld", path,
                      (long long)step);
    return ret;
}

int checkpoint_sums_check(const char *artifacts, const char *folder,
                          int64_t step, struct err *e)
{
    AUTO_FREE char *path = path_join(artifacts, file_name);
    AUTO(buf_clear) struct buf text = BUF_INIT, line = BUF_INIT;
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
            ret =
                err_input(e,
                          "%s is not a checkpoint that this run wrote: %s has "
                          "other sums of step %lld; to use it all the same, "
                          "name its folder instead of the run",
                          folder, path, (long long)step);
    }
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
    AUTO_FREE char *path = path_join(artifacts, file_name);
    AUTO_FREE char *other = path_join(others, file_name);
    AUTO(buf_clear) struct buf a = BUF_INIT, b = BUF_INIT;
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
    return ret;
}
