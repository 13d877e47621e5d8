#include "config.h"
#include "trainer/engine/task.h"

#include <ctype.h>
#include <fcntl.h>
#include <ini.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/conf.h"
#include "common/format/unicode.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/utf8.h"
#include "data/corpus/corpus_parquet.h"
#include "trainer/engine/python_random.h"

enum { MOST_TEXT = 1 << 30 };

/* ---- tasks ------------------------------------------------------------- */

static const char *const keys[] = {
    "file",         "description",  "context",    "choices",
    "continuation", "label",        "labels",     "filter",
    "shots",        "baseline",     "mean",       "norm",
    "shots_file",   "shots_others", "shots_same", NULL,
};

struct loading {
    struct tasks *all;
    size_t first;             /* of this word of the list, */
    const char *ini;          /* if it is a file */
    struct opt_nearest known; /* the name of a known task */
};

static void replace_text(struct buf *b, const char *from, const char *to)
{
    struct buf out = BUF_INIT;
    const char *at = b->s;

    for (const char *hit; (hit = strstr(at, from)); at = hit + strlen(from)) {
        buf_add(&out, at, (size_t)(hit - at));
        buf_str(&out, to);
    }
    buf_str(&out, at);
    buf_clear(b);
    *b = out;
}

/* A key that is given again goes on. */
static int add_key(void *arg, const char *key, const char *value,
                   const char *where, struct err *e)
{
    const struct loading *l = arg;
    struct tasks *all = l->all;
    const size_t n = strcspn(key, ".");
    const int i = key[n] ? opt_find_word(keys, key + n + 1) : -1;
    struct task *t = all->n > l->first ? &all->task[all->n - 1] : NULL;
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (i < 0) {
        err_usage(e, "%s: a task has no %s", where, key);
        return opt_nearest_word(keys, key + n, e);
    }
    if (!t || strncmp(t->name, key, n) != 0 || t->name[n]) {
        t = &APPEND(all->task, all->n, all->room);
        *t = (struct task){ .name = arena_strndup(&all->mem, key, n),
                            .ini = l->ini };
    }
    buf_printf(&text, "%s%s", str_or_empty(t->is[i]), value);
    replace_text(&text, "\\n", "\n");
    replace_text(&text, "\\s", " ");
    t->is[i] = arena_strdup(&all->mem, text.s);
    return 0;
}

static int add_known(void *arg, const char *section, const char *name,
                     const char *value)
{
    struct loading *l = arg;
    const size_t n = strlen(l->known.word);

    opt_nearest_try(&l->known, arena_strdup(&l->all->mem, section));
    if (strncmp(section, l->known.word, n) == 0 &&
        (section[n] == '\0' || section[n] == '/')) {
        const char *key = arena_printf(&l->all->mem, "%s.%s", section, name);

        add_key(arg, key, value, "conf/tasks.ini", ERR_IGNORED);
    }
    return 1;
}

static int add_tasks(struct tasks *all, const char *word, struct err *e)
{
    struct loading l = { all, all->n, NULL, { .word = word } };
    AUTO(path_list_clear) struct path_list files = { 0 };
    const char **base;

    if (str_ends(word, ".ini"))
        l.ini = arena_strdup(&all->mem, word);
    else
        ini_parse_string(task_known, add_known, &l);
    if (l.ini && conf_walk(word, false, add_key, &l, &files, e) < 0)
        return -1;
    base = arena_alloc(&all->mem, (files.n + 1) * sizeof *base);
    for (size_t i = 1; i < files.n; i++) /* the first is the file itself */
        base[i - 1] = arena_strdup(&all->mem, path_listed(&files, i));
    for (size_t i = l.first; i < all->n; i++)
        all->task[i].base = base;
    if (all->n > l.first)
        return 0;
    err_usage(e, "there is no task %s%s", l.ini ? "in " : "", word);
    return l.ini ? -1 : opt_nearest_add(&l.known, e);
}

/* The path of a file, or where only that is there, of FILE.parquet instead of
 * FILE.jsonl. */
static const char *find_file(struct arena *mem, const char *folder,
                             const char *name)
{
    char *joined = path_join(folder, name);
    const char *path = arena_strdup(mem, joined), *other;

    free(joined);
    if (!str_ends(path, ".jsonl") || path_exists(path))
        return path;
    other = arena_printf(mem, "%.*s.parquet", (int)(strlen(path) - 6), path);
    return path_exists(other) ? other : path;
}

static void set_paths(struct task *t, const struct task_conf *c,
                      struct arena *mem)
{
    char *folder;

    if (!t->is[TASK_FILE])
        t->is[TASK_FILE] = arena_printf(mem, "%s.jsonl", t->name);
    t->path = find_file(mem, c->folder, t->is[TASK_FILE]);
    folder = path_parent(t->path);
    t->shots_path = t->shots > 0 && t->is[TASK_SHOTS_FILE]
                        ? find_file(mem, folder, t->is[TASK_SHOTS_FILE])
                        : t->path;
    free(folder);
}

bool task_has_part(const struct task *t, const struct task *part)
{
    const size_t n = strlen(t->name);

    return t->is[TASK_MEAN] && strncmp(part->name, t->name, n) == 0 &&
           part->name[n] == '/' && part->core;
}

static int complete_mean(const struct tasks *all, struct task *t, struct err *e)
{
    for (const struct task *part = all->task; part < t && !t->path; part++)
        if (task_has_part(t, part))
            t->path = part->path;
    return t->path
               ? 0
               : err_usage(e,
                           "the task %s is a mean, but no task %s/NAME with "
                           "a baseline precedes it",
                           t->name, t->name);
}

static int check_core(struct task *t, struct err *e)
{
    const char *baseline = t->is[TASK_BASELINE];

    t->core = baseline;
    if (t->core && (!num_real(baseline, &t->baseline) || t->baseline < 0 ||
                    t->baseline >= 1))
        return err_usage(
            e, "%s.baseline expects 0%% or more, and less than 100%%, not '%s'",
            t->name, baseline);
    for (int i = TASK_NORM; i < TASK_KEYS && t->core; i++)
        if (t->is[i])
            return err_usage(e, "%s.%s is not for a task with a baseline",
                             t->name, keys[i]);
    return 0;
}

/* A task that cannot be asked is found before the first one is, whose answers
 * may take hours. */
static int complete_task(struct tasks *all, struct task *t,
                         const struct task_conf *c, struct err *e)
{
    if (!t->is[TASK_MEAN] && (!t->is[TASK_CONTEXT] || !t->is[TASK_LIST]))
        return err_usage(e, "the task %s needs a context and choices", t->name);
    if (t->is[TASK_SHOTS] && (!num_int(t->is[TASK_SHOTS], &t->shots) ||
                              t->shots < 0 || t->shots > TASK_SHOTS_MOST))
        return err_usage(e, "%s.shots expects 0 to %d, not '%s'", t->name,
                         TASK_SHOTS_MOST, t->is[TASK_SHOTS]);
    if (check_core(t, e) < 0)
        return -1;
    for (const struct task *other = all->task; other < t; other++)
        if (strcmp(other->name, t->name) == 0)
            return err_usage(e, "there are two tasks %s", t->name);
    t->shots = c->shots < 0 ? t->shots : c->shots;
    t->limit = c->limit;
    if (t->is[TASK_MEAN])
        return complete_mean(all, t, e);
    if (t->core && t->limit > 0 && t->limit <= t->shots)
        return err_usage(e,
                         "%s draws %lld shots from the questions that are "
                         "asked; a limit of %lld is too low",
                         t->name, (long long)t->shots, (long long)t->limit);
    set_paths(t, c, &all->mem);
    if (!path_exists(t->path))
        return err_open(e, "cannot open %s", t->path);
    return path_exists(t->shots_path)
               ? 0
               : err_open(e, "cannot open %s", t->shots_path);
}

int tasks_add(struct tasks *all, const struct task_conf *c, struct err *e)
{
    const size_t first = all->n;
    char *own = xstrdup(c->list), *rest = own, *word;
    int ret = 0;

    while (ret == 0 && (word = strsep(&rest, ", ")))
        ret = *word ? add_tasks(all, word, e) : 0;
    for (size_t i = first; i < all->n && ret == 0; i++)
        ret = complete_task(all, &all->task[i], c, e);
    free(own);
    return ret;
}

void tasks_clear(struct tasks *all)
{
    free(all->task);
    arena_clear(&all->mem);
    *all = (struct tasks){ 0 };
}

/* ---- fields of a line -------------------------------------------------- */

/* A question while it is read. */
struct reading {
    struct task_question *to;
    const struct task *task;
    const json_t *line;
    const char *choice; /* of which the texts are */
    int turn;           /* of the texts of a template */
    bool bad;           /* e is set */
    struct err *e;
};

/* Of several things that are wrong, the first counts. */
static void refuse(struct reading *r, const char *what, int n, const char *name)
{
    if (!r->bad)
        err_input(r->e, "%s %.*s", what, n, name);
    r->bad = true;
}

/* Add the texts that a path leads to: of an array, those of all its elements
 * or that of a number.  Yes and no are 1 and 0. */
static int find_texts(struct reading *r, const json_t *from, const char *path,
                      const char *out[TASK_CHOICES], int n)
{
    const size_t len = strcspn(path, ".");
    const char *rest = path + len + (path[len] == '.');
    struct arena *mem = &r->to->mem;

    if (json_is_array(from) && isdigit((unsigned char)*path))
        return find_texts(r, json_array_get(from, strtoul(path, NULL, 10)),
                          rest, out, n);
    for (size_t i = 0; i < json_array_size(from); i++)
        n = find_texts(r, json_array_get(from, i), path, out, n);
    if (*path && json_is_object(from)) {
        n = find_texts(r, json_object_get(from, arena_strndup(mem, path, len)),
                       rest, out, n);
    } else if (!*path && n < TASK_CHOICES) {
        if (json_is_string(from))
            out[n++] = json_string_value(from);
        else if (json_is_integer(from))
            out[n++] =
                arena_printf(mem, "%lld", (long long)json_integer_value(from));
        else if (json_is_boolean(from))
            out[n++] = json_is_true(from) ? "1" : "0";
    }
    return n;
}

/* ---- filters ----------------------------------------------------------- */

/* The text between the blanks at its ends: those of Unicode and four more, as
 * in Python. */
static const char *find_stripped(const char *s, const char **end)
{
    const char *from = NULL;

    *end = s;
    for (const char *at = s, *next = s; *at; at = next) {
        const int32_t c = utf8_next(&next);

        if (unicode_class((uint32_t)c) == UNICODE_SPACE ||
            (c >= 0x1c && c <= 0x1f))
            continue;
        from = from ? from : at;
        *end = next;
    }
    return from ? from : *end;
}

/* With the argument "left", the blanks at the end stay. */
static void add_stripped(struct reading *r UNUSED, struct buf *out,
                         const char *s, const char *arg)
{
    const char *end, *from = find_stripped(s, &end);

    buf_add(out, from, *arg ? strlen(from) : (size_t)(end - from));
}

/* Without the last character. */
static void add_chopped(struct reading *r UNUSED, struct buf *out,
                        const char *s, const char *arg UNUSED)
{
    size_t n = strlen(s);

    while (n > 0 && (s[n - 1] & 0xc0) == 0x80)
        n--;
    buf_add(out, s, n > 0 ? n - 1 : 0);
}

/* The first letter large, if it is one of ASCII, and the others small. */
static void add_capitalized(struct reading *r UNUSED, struct buf *out,
                            const char *s, const char *arg UNUSED)
{
    const char *first = s;

    if (*s)
        utf8_next(&s);
    buf_add(out, first, (size_t)(s - first));
    if (s - first == 1)
        out->s[out->len - 1] = (char)toupper((unsigned char)*first);
    while (*s)
        utf8_add(out, utf8_fold(utf8_next(&s)));
}

static void add_uncapitalized(struct reading *r UNUSED, struct buf *out,
                              const char *s, const char *arg UNUSED)
{
    buf_char(out, (char)(*s ? tolower((unsigned char)*s) : ' '));
    buf_str(out, *s ? s + 1 : s);
}

static void add_words(struct reading *r UNUSED, struct buf *out, const char *s,
                      const char *arg UNUSED)
{
    for (; *s; s++)
        buf_char(out, (char)(*s == '_' ? ' ' : *s));
}

/* The first occurrence of a text. */
static const char *find_part(struct reading *r, const char *s, const char *part)
{
    const char *at = strstr(s, part);

    if (!at)
        refuse(r, "the text does not contain", 40, part);
    return at ? at : s;
}

static void add_before(struct reading *r, struct buf *out, const char *s,
                       const char *arg)
{
    buf_add(out, s, (size_t)(find_part(r, s, arg) - s));
}

static void add_after(struct reading *r, struct buf *out, const char *s,
                      const char *arg)
{
    const char *at = find_part(r, s, arg);

    buf_str(out, at + strnlen(at, strlen(arg)));
}

/* What precedes the last word. */
static void add_rest(struct reading *r UNUSED, struct buf *out, const char *s,
                     const char *arg UNUSED)
{
    const char *blank = strrchr(s, ' ');

    buf_add(out, s, blank ? (size_t)(blank - s) : 0);
}

static void add_last(struct reading *r UNUSED, struct buf *out, const char *s,
                     const char *arg UNUSED)
{
    buf_str(out, str_after(s, ' '));
}

/* The value of the text in "a=x b=y"; the last is that of all others. */
static void add_mapped(struct reading *r UNUSED, struct buf *out, const char *s,
                       const char *arg)
{
    const size_t n = strlen(s);

    while (strchr(arg, ' ') && (strncmp(arg, s, n) != 0 || arg[n] != '='))
        arg = strchr(arg, ' ') + 1;
    arg += strcspn(arg, "=");
    arg += *arg == '=';
    buf_add(out, arg, strcspn(arg, " "));
}

/* Stripped, and without [anything] within a line, which HellaSwag's texts from
 * WikiHow have. */
static void add_cleaned(struct reading *r, struct buf *out, const char *s,
                        const char *arg)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    add_stripped(r, &b, s, arg);
    replace_text(&b, " [title]", ". ");
    for (const char *at = b.s; *at;) {
        const char *end = *at == '[' ? strpbrk(at, "]\n") : NULL;

        if (end && *end == ']')
            at = end + 1;
        else
            buf_char(out, *at++);
    }
    replace_text(out, "  ", " ");
}

static const struct filter {
    const char *name;
    void (*add)(struct reading *, struct buf *out, const char *s,
                const char *arg);
} filters[] = {
    { "strip", add_stripped },
    { "chop", add_chopped },
    { "capitalize", add_capitalized },
    { "uncapitalize", add_uncapitalized },
    { "words", add_words },
    { "before", add_before },
    { "after", add_after },
    { "rest", add_rest },
    { "last", add_last },
    { "map", add_mapped },
    { "clean", add_cleaned },
    { NULL, NULL },
};

/* Put in place of a text what "name argument" makes of it. */
static void apply_filter(struct reading *r, struct buf *text,
                         const char *filter)
{
    const size_t n = strcspn(filter, " ");
    const struct filter *f = filters;
    struct buf out = BUF_INIT;

    while (f->name && (strncmp(f->name, filter, n) != 0 || f->name[n] != '\0'))
        f++;
    if (f->name)
        f->add(r, &out, text->s, filter + n + (filter[n] == ' '));
    else
        refuse(r, "there is no filter", (int)n, filter);
    buf_clear(text);
    *text = out;
}

/* ---- templates --------------------------------------------------------- */

/* Append the text of "path|path:filter:filter" whose turn it is: of the first
 * path that the line has.  Returns how many there are. */
static int add_field(struct reading *r, struct buf *out, const char *field,
                     size_t len)
{
    char *rest = arena_strndup(&r->to->mem, field, len), *filter;
    char *paths = strsep(&rest, ":"), *path;
    const char *all[TASK_CHOICES] = { r->choice };
    int n = r->choice && strcmp(paths, "choice") == 0;
    AUTO(buf_clear) struct buf text = BUF_INIT;

    while (n == 0 && (path = strsep(&paths, "|")))
        n = find_texts(r, r->line, path, all, 0);
    if (n == 0 || (n > 1 && r->turn >= n))
        refuse(r, "there is no", (int)strcspn(field, "|:}"), field);
    buf_str(&text, n == 0 ? "" : all[r->turn < n ? r->turn : 0]);
    while ((filter = strsep(&rest, ":")))
        apply_filter(r, &text, filter);
    buf_str(out, text.s);
    return n;
}

/* List the texts of "template || template", of which each makes as many as its
 * field has; returns how many there are. */
static int list(struct reading *r, enum task_key key,
                const char *out[TASK_CHOICES])
{
    const char *from = r->task->is[key], *filter = r->task->is[TASK_FILTER];
    int count = 0;

    for (const char *next; from; from = next) {
        const char *end = strstr(from, " || ");
        int most = 1;

        next = end ? end + 4 : NULL;
        end = end ? end : from + strlen(from);
        for (r->turn = 0; r->turn < most && count < TASK_CHOICES; r->turn++) {
            AUTO(buf_clear) struct buf text = BUF_INIT;

            for (const char *at = from; at < end; at++) {
                const char *close = *at == '{' ? strchr(at, '}') : NULL;
                const int n = close ? add_field(r, &text, at + 1,
                                                (size_t)(close - at - 1))
                                    : 0;

                if (!close)
                    buf_char(&text, *at);
                at = close ? close : at;
                most = n > most ? n : most;
            }
            if (filter)
                apply_filter(r, &text, filter);
            out[count++] = arena_strdup(&r->to->mem, text.s);
        }
    }
    return count;
}

static const char *text(struct reading *r, enum task_key key)
{
    const char *all[TASK_CHOICES];

    return list(r, key, all) ? all[0] : "";
}

/* ---- questions --------------------------------------------------------- */

/* Add a choice, whose continuation follows a blank.  White space at the end of
 * the context goes to the continuation, because tokens begin with it. */
static void add_choice(struct reading *r, const char *choice)
{
    const char *norm = r->task->is[TASK_NORM];
    struct task_choice *c = &r->to->choice[r->to->n++];
    const char *context, *end;

    r->choice = choice;
    context = text(r, TASK_CONTEXT);
    find_stripped(context, &end);
    c->context = arena_strndup(&r->to->mem, context, (size_t)(end - context));
    c->continuation = arena_printf(
        &r->to->mem, "%s %s", end,
        r->task->is[TASK_CONTINUATION] ? text(r, TASK_CONTINUATION) : choice);
    c->length[0] = r->task->core ? 0 : 1;
    c->length[1] = norm ? 0 : (double)utf8_count(choice);
    c->length[2] = (double)strlen(choice);
}

/* The right choice is that of the same label or, without labels, that of the
 * number. */
static void set_right(struct reading *r)
{
    const char *labels[TASK_CHOICES], *label = text(r, TASK_LABEL);
    const int n = list(r, TASK_LABELS, labels);
    int64_t right = -1;

    if (!r->task->is[TASK_LABEL]) {
        if (r->to->n != 1)
            refuse(r, "without a label, there must be one choice, not", 7,
                   r->to->n ? "several" : "none");
        return;
    }
    if (n == 0)
        num_int(label, &right);
    for (int i = 0; i < n; i++)
        right = strcmp(labels[i], label) == 0 ? i : right;
    r->to->right = (int)right;
    if (r->to->n < 2)
        refuse(r, "there must be two choices or more, not only", 7, "one");
    if (right < 0 || right >= r->to->n)
        refuse(r, "no choice has the label", 40, label);
}

static int read_question(struct task_question *q, const struct task *task,
                         const char *line, struct err *e)
{
    json_error_t why;
    json_t *o = json_loads(line, 0, &why);
    struct reading r = { .to = q, .task = task, .line = o, .e = e };
    const char *choices[TASK_CHOICES];
    int count;

    *q = (struct task_question){ 0 };
    if (!o)
        return err_input(e, "%s", why.text);
    count = list(&r, TASK_LIST, choices);
    for (int i = 0; i < count; i++)
        add_choice(&r, choices[i]);
    set_right(&r);
    r.choice = NULL;
    q->description = text(&r, TASK_DESCRIPTION);
    q->same = text(&r, TASK_SHOTS_SAME);
    json_decref(o);
    return r.bad ? -1 : 0;
}

static int read_file(struct buf *text, const char *path, struct err *e)
{
    int fd;

    if (str_ends(path, ".parquet"))
        return corpus_parquet_lines(text, path, e);
    fd = open(path, O_RDONLY | O_CLOEXEC); /* which may be a pipe */
    return fd < 0 ? err_open(e, "cannot open %s", path)
                  : buf_read_open(text, fd, path, MOST_TEXT, e);
}

/* Divide a text into its lines, in the order in which they are asked. */
struct task_line {
    char *text;
    size_t number;
};

static struct task_line *find_lines(const struct task *task, char *rest,
                                    size_t *n)
{
    struct task_line *line = NULL;
    struct python_random random;
    size_t room = 0;

    while (rest && *rest) {
        APPEND(line, *n, room) =
            (struct task_line){ .text = strsep(&rest, "\n") };
        line[*n - 1].number = *n;
    }
    python_random_seed(&random, 1337); /* that of nanochat */
    for (size_t i = task->core ? *n : 0; i > 1; i--) {
        struct task_line *drawn = line + python_random_below(&random, i);
        const struct task_line last = line[i - 1];

        line[i - 1] = *drawn;
        *drawn = last;
    }
    return line;
}

int64_t task_each(const struct task *task, const char *path, int64_t limit,
                  task_fn *fn, void *arg, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int ret = read_file(&text, path, e);
    const int64_t bytes = (int64_t)text.len;
    struct task_line *line;
    size_t n = 0;

    line = find_lines(task, text.s, &n);
    if (ret == 0 && n == 0)
        ret = err_input(e, "%s contains no questions", path);
    n = limit > 0 && (size_t)limit < n ? (size_t)limit : n;
    for (size_t i = 0; i < n && ret == 0; i++) {
        struct task_question q;

        ret = read_question(&q, task, line[i].text, e);
        if (ret == 0 && fn)
            ret = fn(arg, &q, line[i].text, e);
        if (ret < 0)
            err_wrap(e, "%s:%zu", path, line[i].number);
        arena_clear(&q.mem);
    }
    free(line);
    return ret < 0 ? -1 : bytes;
}
