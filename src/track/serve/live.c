#include "config.h"
#include "track/serve/live.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/store.h"

enum {
    FOLDER_EVENTS = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                    IN_ATTRIB | IN_ONLYDIR | IN_DONT_FOLLOW,
    FILE_EVENTS = FOLDER_EVENTS | IN_MODIFY | IN_CLOSE_WRITE,
    DEEPEST = 8, /* folders of metrics, as in system/gpu/0 */
};

/* File systems on which other machines may write. */
static bool is_shared(const char *root)
{
    static const unsigned long types[] = {
        0x6969,                             /* NFS */
        0x517B,     0xFF534D42, 0xFE534D42, /* SMB */
        0x65735546,                         /* FUSE */
        0x0BD00BD0,                         /* Lustre */
        0x47504653,                         /* GPFS */
        0x19830326,                         /* BeeGFS */
        0x00C36400,                         /* Ceph */
        0x01021997,                         /* 9P */
    };
    struct statfs fs;

    if (statfs(root, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (((unsigned long)fs.f_type & 0xFFFFFFFF) == types[i])
            return true;
    return false;
}

/* Note whose folder it is; NULL for one with several runs. */
static void set_owner(struct changes *c, int watch, const char *run)
{
    const size_t at = (size_t)watch;

    while (at >= c->room) {
        const size_t room = c->room ? 2 * c->room : 64;

        c->owner = xrealloc(c->owner, room, sizeof *c->owner);
        memset(c->owner + c->room, 0, (room - c->room) * sizeof *c->owner);
        c->room = room;
    }
    if (!run || !c->owner[at] || strcmp(c->owner[at], run) != 0)
        xreplace(&c->owner[at], run);
}

static void watch_folder(struct changes *c, const char *path, int events,
                         const char *run)
{
    const int watch =
        c->fd < 0 ? -1 : inotify_add_watch(c->fd, path, (uint32_t)events);

    if (watch >= 0)
        set_owner(c, watch, run);
    else if (path_is_folder(path))
        c->seen = false;
}

static void watch_tree(struct changes *c, const char *path, const char *run,
                       int depth)
{
    DIR *dir = depth < DEEPEST ? opendir(path) : NULL;
    const struct dirent *d;

    watch_folder(c, path, FILE_EVENTS, run);
    while (dir && (d = readdir(dir))) {
        if ((d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) &&
            d->d_name[0] != '.') {
            AUTO_FREE char *below = path_join(path, d->d_name);

            if (path_is_folder(below) && !path_is_link(below))
                watch_tree(c, below, run, depth + 1);
        }
    }
    if (dir)
        closedir(dir);
}

/* Watch the folders that runs are added to. */
static void changes_watch_root(struct changes *c, const char *root)
{
    AUTO(path_list_clear) struct path_list names = { 0 };

    c->seen &= !is_shared(root);
    watch_folder(c, root, FOLDER_EVENTS | IN_MOVE_SELF | IN_DELETE_SELF, NULL);
    if (path_list(&names, root, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);

        if (path_is_folder(path))
            watch_folder(c, path, FOLDER_EVENTS, NULL);
    }
}

static void changes_watch_run(struct changes *c, const struct run_info *r)
{
    AUTO_FREE char *tags = path_join(r->folder, STORE_TAGS);

    watch_folder(c, r->folder, FOLDER_EVENTS, r->id);
    watch_folder(c, tags, FILE_EVENTS, r->id);
    if (r->status == RUN_RUNNING || r->status == RUN_SCHEDULED) {
        AUTO_FREE char *metrics = path_join(r->folder, STORE_METRICS);
        AUTO_FREE char *state = path_join(r->folder, STORE_OWN);

        watch_tree(c, metrics, r->id, 0);
        watch_folder(c, state, FOLDER_EVENTS, r->id);
    }
}

static void note(struct changes *c, const struct inotify_event *event)
{
    const char *run = event->wd >= 0 && (size_t)event->wd < c->room
                          ? c->owner[event->wd]
                          : NULL;

    if (event->mask & IN_IGNORED && run) {
        xreplace(&c->owner[event->wd], NULL);
        return;
    }
    for (int i = 0; run && i < c->n; i++)
        if (strcmp(c->id[i], run) == 0)
            return;
    if (run && c->n < CHANGES_FEW)
        c->id[c->n++] = xstrdup(run);
    else
        c->all = true;
}

/* Add what was reported since the last call. */
static void changes_take(struct changes *c)
{
    _Alignas(struct inotify_event) char events[16384];
    ssize_t n;

    while (c->fd >= 0 && (n = read(c->fd, events, sizeof events)) > 0) {
        for (const char *at = events; at < events + n;) {
            const struct inotify_event *event = (const void *)at;

            note(c, event);
            at += sizeof *event + event->len;
        }
    }
}

/* Forget it, before the store is read again. */
static void changes_forget(struct changes *c)
{
    while (c->n)
        free(c->id[--c->n]);
    c->all = false;
}

static void changes_close(struct changes *c)
{
    changes_forget(c);
    for (size_t i = 0; i < c->room; i++)
        free(c->owner[i]);
    free(c->owner);
    if (c->fd >= 0)
        close(c->fd);
    *c = (struct changes){ .fd = -1 };
}

/* Seconds from one reading to the next, at least. */
static const double soonest = 0.3, /* after a change */
    polling = 2,                   /* where changes are not reported */
    beats = 15,                    /* a run that is running may be dead */
    trouble = 1,                   /* until a missing store is looked for */
    calm = 30;

/* Reading takes at most one part in SHARE of the processor's time, and one in
 * SHARE_OF_TIME of the time. */
enum { SHARE = 20, SHARE_OF_TIME = 5 };

/* -- what is different ----------------------------------------------------- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    return hash128(data, n, h).hi;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    return s ? mix(h, s, strlen(s) + 1) : h;
}

/* A number that is another one after a change of the run. */
static uint64_t print_of(const struct run_info *r)
{
    const int64_t facts[] = { r->status, r->deleted,  r->start_ms,
                              r->end_ms, r->attempts, (int64_t)r->n_params };
    uint64_t h = mix(0, facts, sizeof facts);

    h = mix_text(mix_text(mix_text(h, r->id), r->name), r->experiment);
    h = mix_text(h, r->damage);
    for (size_t i = 0; i < r->n_tags; i++)
        h = mix_text(mix_text(h, r->tags[i].key), r->tags[i].value);
    for (size_t i = 0; i < r->n_metrics; i++) {
        const struct metric_sum *m = &r->metrics[i];

        h = mix(h, &m->count, sizeof m->count);
        h = mix(h, &m->last, sizeof m->last);
    }
    return h;
}

/* Runs that were read together, and whose memory is freed together. */
struct live_part {
    struct arena mem;
    size_t users;
};

struct live_run {
    uint64_t print;
    int64_t since;          /* the version in which it became what it is */
    bool changed;           /* in the last one */
    struct live_part *part; /* with its memory, or NULL: with all others */
};

struct known {
    const char *id;
    const struct live_run *run;
};

/* Sorted by id; the caller frees it. */
static struct known *list_known(const struct live *l)
{
    struct known *known = xcalloc(l->runs.n + 1, sizeof *known);

    for (size_t i = 0; i < l->runs.n; i++)
        known[i] = (struct known){ l->runs.run[i].id, &l->of[i] };
    SORT(known, l->runs.n, str_compare);
    return known;
}

static const struct live_run *find_known(const struct known *known, size_t n,
                                         const char *id)
{
    const struct known key = { .id = id };
    const struct known *found =
        n ? bsearch(&key, known, n, sizeof key, str_compare) : NULL;

    return found ? found->run : NULL;
}

/* -- reading --------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void leave_part(struct live_part *part)
{
    if (!part || --part->users > 0)
        return;
    arena_clear(&part->mem);
    free(part);
}

static void free_runs(struct live *l)
{
    for (size_t i = 0; i < l->runs.n; i++)
        leave_part(l->of[i].part);
    free(l->of);
    l->of = NULL;
    runs_free(&l->runs);
}

/* Note whether a run differs from what it was; NULL: it is new. */
static void set_run(struct live *l, struct live_run *to,
                    const struct run_info *r, const struct live_run *was)
{
    const uint64_t print = print_of(r);

    to->changed = !was || was->print != print;
    to->since = to->changed ? l->version + 1 : was->since;
    to->print = print;
    l->running |= r->status == RUN_RUNNING;
    if (!was && r->status == RUN_RUNNING)
        l->again = true; /* a point may have come before it was watched */
}

/* Take over the runs that were read; true if they differ from those before. */
static bool accept_all(struct live *l, const struct runs *now)
{
    AUTO_FREE struct known *known = list_known(l);
    struct live_run *of = xcalloc(now->n + 1, sizeof *of);
    bool any = l->runs.n != now->n;

    l->running = false;
    for (size_t i = 0; i < now->n; i++) {
        set_run(l, &of[i], &now->run[i],
                find_known(known, l->runs.n, now->run[i].id));
        any |= of[i].changed;
    }
    free_runs(l);
    l->runs = *now;
    l->of = of;
    return any;
}

static size_t find_run(const struct live *l, const char *id)
{
    size_t i = 0;

    while (i < l->runs.n && strcmp(l->runs.run[i].id, id) != 0)
        i++;
    return i;
}

/* Put a run that was read again in its place. */
static bool accept_run(struct live *l, const struct run_info *r,
                       struct live_part *part)
{
    const size_t i = find_run(l, r->id);
    const struct live_run was = l->of[i];

    set_run(l, &l->of[i], r, &was);
    l->runs.run[i] = *r;
    l->of[i].part = part;
    part->users++;
    leave_part(was.part);
    return l->of[i].changed;
}

/* Put the runs that were read in their places; false if they have none. */
static bool accept_few(struct live *l, struct runs *now, bool *any)
{
    struct live_part *part;

    for (size_t i = 0; i < now->n; i++)
        if (find_run(l, now->run[i].id) == l->runs.n)
            now->n = 0;
    if (now->n != (size_t)l->changes.n || now->n == 0) {
        runs_free(now);
        return false;
    }
    for (size_t i = 0; i < l->runs.n; i++)
        l->of[i].changed = false;
    part = xcalloc(1, sizeof *part);
    part->mem = now->mem;
    for (size_t i = 0; i < now->n; i++)
        *any |= accept_run(l, &now->run[i], part);
    free(now->run);
    changes_forget(&l->changes);
    return true;
}

/* While a thread reads, it may use the members `path`, `flags` and `changes`,
 * and look at the runs of before. */
struct live_reading {
    struct live *live;
    pthread_t thread;
    int done; /* becomes readable at the end; -1: there is no thread */
    bool all;
    struct runs now;
    struct err e; /* why there are none */
    double began, cpu;
};

/* What is new or different is watched. */
static void watch_runs(struct live *l, const struct runs *now)
{
    AUTO_FREE struct known *known = list_known(l);

    for (size_t i = 0; i < now->n; i++) {
        const struct run_info *r = &now->run[i];
        const struct live_run *was = find_known(known, l->runs.n, r->id);

        if (!was || was->print != print_of(r))
            changes_watch_run(&l->changes, r);
    }
}

static void *read_runs(void *arg)
{
    const uint64_t one = 1;
    struct live_reading *r = arg;
    struct live *l = r->live;
    int ret;

    if (r->all)
        changes_watch_root(&l->changes, l->path);
    ret = r->all
              ? runs_load(&r->now, l->path, LOAD_DELETED | l->flags, &r->e)
              : runs_load_ids(&r->now, l->path, l->changes.id, l->changes.n,
                              LOAD_DELETED | LOAD_NO_INDEX | l->flags, &r->e);
    if (ret < 0)
        r->now = (struct runs){ 0 };
    watch_runs(l, &r->now);
    if (r->done >= 0 && write(r->done, &one, sizeof one) < 0)
        return NULL; /* it never fails */
    return NULL;
}

static bool wants_all(const struct live *l)
{
    return l->changes.all || l->again || l->changes.n == 0 || l->problem.kind;
}

void live_begin(struct live *l)
{
    struct live_reading *r;

    if (l->reading)
        return;
    r = xcalloc(1, sizeof *r);
    *r = (struct live_reading){ .live = l,
                                .all = wants_all(l),
                                .done = eventfd(0, EFD_CLOEXEC),
                                .began = clock_mono(),
                                .cpu = cpu_seconds() };
    l->reading = r;
    if (r->all) {
        changes_forget(&l->changes);
        l->again = false;
    }
    if (r->done >= 0 && threads_start(&r->thread, read_runs, r) != 0) {
        close(r->done);
        r->done = -1;
    }
    if (r->done < 0)
        read_runs(r);
}

/* Take over what was read; true if something is different. */
static bool accept_reading(struct live *l, struct live_reading *r)
{
    const bool had_problem = l->problem.kind != ERR_NONE;
    const double now = clock_mono(), secs = now - r->began;
    const double cost =
        fmax((cpu_seconds() - r->cpu) * SHARE, secs * (SHARE_OF_TIME - 1));
    bool any = false;

    if (r->all) {
        l->problem = r->e;
        any = accept_all(l, &r->now);
        any |= had_problem != (l->problem.kind != ERR_NONE);
        l->all_at = now;
        l->cost_of_all = cost;
    } else if (accept_few(l, &r->now, &any)) {
        l->cost = cost;
    } else {
        l->changes.all = true; /* which is due at another time */
    }
    l->version += any;
    l->read_at = now;
    l->secs = secs;
    return any;
}

bool live_end(struct live *l, double secs)
{
    struct live_reading *r = l->reading;
    struct pollfd p = { r ? r->done : -1, POLLIN, 0 };
    bool any;
    int n = 1;

    if (r && r->done >= 0 && isfinite(secs))
        n = poll(&p, 1, (int)(secs * 1000));
    if (!r || n == 0 || (n < 0 && errno == EINTR))
        return false;
    if (r->done >= 0) {
        pthread_join(r->thread, NULL);
        close(r->done);
    }
    any = accept_reading(l, r);
    l->reading = NULL;
    free(r);
    return any;
}

bool live_read(struct live *l)
{
    live_begin(l);
    return live_end(l, (double)INFINITY);
}

void live_open(struct live *l, const char *path, int flags)
{
    *l = (struct live){ .path = path, .flags = flags };
    l->changes.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    l->changes.seen = l->changes.fd >= 0;
    err_set(&l->problem, ERR_BUSY, "%s is still being read", path);
}

int live_fd(const struct live *l)
{
    return l->reading ? l->reading->done : l->changes.fd;
}

void live_look(struct live *l)
{
    if (!l->reading)
        changes_take(&l->changes);
}

/* The time at which all runs, or changed ones, are to be read again. */
static double due_at(const struct live *l)
{
    const double pause = l->changes.all || l->again ? soonest
                         : l->problem.kind          ? trouble
                         : !l->changes.seen         ? polling
                         : l->running               ? beats
                                                    : calm;
    const double all = l->all_at + fmax(pause, l->cost_of_all);

    if (l->changes.n == 0 || wants_all(l))
        return all;
    return fmin(all, l->read_at + fmax(soonest, l->cost));
}

bool live_due(const struct live *l)
{
    return !l->reading && clock_mono() >= due_at(l);
}

double live_wait(const struct live *l)
{
    return l->reading ? (double)INFINITY : fmax(due_at(l) - clock_mono(), 0);
}

int64_t live_since(const struct live *l, char *const *ids, size_t n)
{
    int64_t since = 0;

    for (size_t i = 0; i < l->runs.n; i++)
        for (size_t k = 0; k < n && l->of[i].since > since; k++)
            if (strcmp(l->runs.run[i].id, ids[k]) == 0)
                since = l->of[i].since;
    return since;
}

void live_changed(const struct live *l, struct emit *o)
{
    emit_object(o, NULL);
    emit_int(o, "version", l->version);
    emit_array(o, "runs");
    for (size_t i = 0; i < l->runs.n; i++)
        if (l->of[i].changed)
            emit_text(o, NULL, l->runs.run[i].id);
    emit_array_end(o);
    emit_object_end(o);
}

void live_close(struct live *l)
{
    live_end(l, (double)INFINITY);
    changes_close(&l->changes);
    free_runs(l);
}
