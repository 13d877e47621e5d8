/*
 * library - libgtrack as a program of others uses it, by gtrack.h alone
 */
#include "config.h"
#include "store/lib/gtrack.h"
#include "t/lib/tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "library.XXXXXX";
static char why[GTRACK_WHY];

static struct gtrack *begin(const char *id, const char *resume)
{
    const struct gtrack_conf conf = {
        .size = sizeof conf,
        .root = root,
        .experiment = "lib",
        .id = id,
        .resume = resume,
        .command = "prog",
        .flags = GTRACK_NO_CAPTURE,
    };
    struct gtrack *run = gtrack_begin(&conf, why);

    if (!run)
        diag("%s", why);
    return run;
}

/* What a file of the run has, or "". */
static const char *content(const char *folder, const char *name)
{
    static char text[4096];
    char path[1024];
    FILE *fp;
    size_t n = 0;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fp = fopen(path, "r");
    if (fp) {
        n = fread(text, 1, sizeof text - 1, fp);
        fclose(fp);
    }
    text[n] = '\0';
    return text;
}

static int count_lines(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void log_rows(void)
{
    enum { KEYS = 100 };
    struct gtrack *run = begin(NULL, NULL);
    char name[KEYS][16], *folder = strdup(gtrack_folder(run));
    const char *key[KEYS];
    double row[1 + KEYS] = { 7 };
    struct gtrack_keys *keys;

    for (int i = 0; i < KEYS; i++) {
        snprintf(name[i], sizeof name[i], "m/%d", i);
        key[i] = name[i];
        row[1 + i] = i + 0.5;
    }
    keys = gtrack_keys(run, key, KEYS);
    memset(name, 'x', sizeof name);
    gtrack_row(keys, row);
    ok(gtrack_end(run, GTRACK_FINISHED, why) == 0,
       "a run with rows of 100 metrics ends");
    ok(strstr(content(folder, "metrics/m/0"), " 0.5 7\n") != NULL,
       "the first metric of a row has its value and the step");
    ok(strstr(content(folder, "metrics/m/99"), " 99.5 7\n") != NULL,
       "the last of 100 metrics of a row has its value and the step");
    gtrack_row(gtrack_keys(NULL, key, KEYS), row);
    ok(1, "a row without a run is ignored");
    free(folder);
}

static void log_large_steps(void)
{
    static const int64_t step[] = { INT64_MAX, INT64_MIN,
                                    (INT64_C(1) << 53) + 1 };
    static const char *const key[] = { "x" };
    struct gtrack *run = begin(NULL, NULL);
    char *folder = strdup(gtrack_folder(run));
    for (size_t i = 0; i < sizeof step / sizeof step[0]; i++)
        gtrack_metric(run, "x", step[i], (double)i);
    gtrack_row(gtrack_keys(run, key, 1), (const double[]){ 0x1p53, 5 });
    gtrack_end(run, GTRACK_FINISHED, why);
    ok(strstr(content(folder, "metrics/x"), " 0.0 9223372036854775807\n") &&
           strstr(content(folder, "metrics/x"), " 1.0 -9223372036854775808\n"),
       "the largest and the least step are kept exactly");
    ok(strstr(content(folder, "metrics/x"), " 2.0 9007199254740993\n") != NULL,
       "a step of 2^53 + 1 is kept exactly");
    ok(!strstr(content(folder, "metrics/x"), " 5.0 "),
       "a row whose step a double cannot tell exactly is refused");
    free(folder);
}

static void choose_id(void)
{
    static const char id[] = "0123456789abcdef0123456789abcdef";
    struct gtrack *run = begin(id, NULL);

    ok(strcmp(gtrack_id(run), id) == 0, "a run gets the id that was chosen");
    ok(gtrack_last_step(run) == -1, "a new run has no last step");
    gtrack_metric(run, "loss", 41, 1);
    gtrack_end(run, GTRACK_PREEMPTED, why);
    ok(!begin(id, NULL) && strstr(why, "resume it"),
       "a second run with the same id is refused with advice");
    ok(!begin("abc", NULL) && strstr(why, "32 hexadecimal digits"),
       "an id of another form is refused");
    run = begin(NULL, id);
    ok(run && gtrack_last_step(run) == 41,
       "a run that is resumed tells its last step");
    gtrack_metric(run, "loss", 42, 2);
    gtrack_rewind(run, 41);
    gtrack_end(run, GTRACK_FINISHED, why);
    ok(!begin(NULL, "none") && *why,
       "resuming a run that does not exist is an error with a message");
}

static void record_dataset(void)
{
    const struct gtrack_dataset d = {
        .size = sizeof d, .name = "c4", .digest = "d1", .context = "training"
    };
    struct gtrack *run = begin(NULL, NULL);

    ok(gtrack_dataset(run, &d, why) == 0, "a dataset is recorded");
    ok(gtrack_dataset(NULL, &d, why) == 0,
       "a dataset without a run is ignored");
    gtrack_reason(run, "loss is nan");
    gtrack_end(run, GTRACK_FAILED, why);
}

static void rename_run(void)
{
    struct gtrack *run = begin(NULL, NULL);
    char *folder = strdup(gtrack_folder(run));

    ok(gtrack_rename(run, "better", why) == 0, "a run is renamed");
    ok(gtrack_rename(run, "", why) < 0 && *why,
       "an empty name is refused with a message");
    gtrack_end(run, GTRACK_FINISHED, why);
    ok(strstr(content(folder, "meta.yaml"), "run_name: \"better\"\n") != NULL,
       "a run that was renamed keeps its new name when it ends");
    free(folder);
}

static void check_sizes(void)
{
    struct {
        struct gtrack_conf conf;
        const char *more;
    } newer = { .conf = { .size = sizeof newer,
                          .root = root,
                          .flags = GTRACK_NO_CAPTURE } };
    const struct gtrack_conf older = {
        .size = offsetof(struct gtrack_conf, flags),
        .root = root,
        .flags = ~0u,
    };
    struct gtrack *run = gtrack_begin(&newer.conf, why);

    ok(run != NULL, "members of a newer program that it does not use are "
                    "ignored");
    gtrack_end(run, GTRACK_FINISHED, why);
    newer.more = "more";
    ok(!gtrack_begin(&newer.conf, why) && strstr(why, "newer libgtrack"),
       "members of a newer program that it uses are refused");
    run = gtrack_begin(&older, why);
    ok(run != NULL, "the shorter struct of an older program is accepted");
    gtrack_end(run, GTRACK_FINISHED, why);
}

/* In the child: 0 if everything was as it should be. */
static int use_in_child(struct gtrack *parents, struct gtrack_keys *keys)
{
    const double row[] = { 9, 9 };
    struct gtrack *own;

    gtrack_metric(parents, "loss", 9, 9);
    gtrack_row(keys, row);
    gtrack_tag(parents, "child", "1");
    if (gtrack_flush(parents, why) == 0 || !strstr(why, "forked"))
        return 1;
    if (gtrack_end(parents, GTRACK_FAILED, why) == 0 || !strstr(why, "forked"))
        return 2;
    own = begin(NULL, NULL);
    gtrack_metric(own, "loss", 1, 1);
    return own && gtrack_end(own, GTRACK_FINISHED, why) == 0 ? 0 : 3;
}

/* AddressSanitizer's allocator may be locked by another thread when a process
 * is forked, and then stays locked in the child. */
#ifdef __SANITIZE_ADDRESS__
enum { MAY_FORK = 0 };
#else
enum { MAY_FORK = 1 };
#endif

static void fork_child(void)
{
    static const char *const key[] = { "loss" };
    struct gtrack *run = begin(NULL, NULL);
    struct gtrack_keys *keys = gtrack_keys(run, key, 1);
    char *folder = strdup(gtrack_folder(run));
    int status = -1;
    pid_t child;

    gtrack_metric(run, "loss", 1, 1);
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(use_in_child(run, keys));
    waitpid(child, &status, 0);
    ok(status == 0, "a forked child leaves its parent's run alone and writes "
                    "one of its own");
    gtrack_metric(run, "loss", 2, 2);
    ok(gtrack_end(run, GTRACK_FINISHED, why) == 0,
       "the parent of a forked child ends its run");
    ok(count_lines(content(folder, "metrics/loss")) == 2,
       "a run has what its own process logged, and nothing of a child");
    free(folder);
}

/* Has a run one value, and been ended like this? */
static bool has_ended(const char *id, const char *word)
{
    struct gtrack *run = begin(NULL, id); /* which also tells where it is */
    const char *text =
        run ? content(gtrack_folder(run), ".gtrack/attempt.1.yaml") : "";
    bool right = strstr(text, word) != NULL;

    if (!right)
        diag("%s", text);
    right =
        right && count_lines(content(gtrack_folder(run), "metrics/loss")) == 1;
    gtrack_end(run, GTRACK_FINISHED, why);
    return right;
}

/* Leave two runs to the end of a process that exits with this status. */
static bool ends_with_process(const char *id, int code, const char *word)
{
    char other[33];
    int status = -1;
    pid_t child;

    snprintf(other, sizeof other, "3%s", id + 1);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct gtrack *run[] = { begin(id, NULL), begin(other, NULL) };

        for (int i = 0; i < 2; i++) {
            gtrack_end_at_exit(run[i]);
            gtrack_metric(run[i], "loss", 1, 1);
        }
        exit(code);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == code && has_ended(id, word) &&
           has_ended(other, word);
}

static void end_at_exit(void)
{
    ok(ends_with_process("11111111111111111111111111111111", 0, "FINISHED"),
       "runs that end with a process of status 0 are finished");
    if (confstr(_CS_GNU_LIBC_VERSION, NULL, 0) > 0)
        ok(ends_with_process("22222222222222222222222222222222", 4,
                             "exit status 4"),
           "runs that end with a process of another status have failed");
    else
        skip("runs that end with a process of another status have failed",
             "the C library does not tell the status");
}

static void tell_what_it_had(void)
{
    static const char *const id = "33333333333333333333333333333333";
    struct gtrack *run = begin(id, NULL);
    const char *text = NULL, *key;
    double last = 0;
    bool good;

    gtrack_param(run, "lr", "0.1");
    gtrack_tag(run, "zz", "tagged");
    for (int i = 1; i <= 4; i++)
        gtrack_metric(run, "loss", i, i * 10);
    gtrack_metric(run, "late", 4, 1);
    ok(!gtrack_had_param(run, 0, &text), "a new run had nothing before");
    gtrack_end(run, GTRACK_PREEMPTED, why);
    run = begin(NULL, id);
    key = gtrack_had_param(run, 0, &text);
    good = key && !strcmp(key, "lr") && !strcmp(text, "0.1") &&
           !gtrack_had_param(run, 1, &text);
    key = NULL;
    for (int i = 0; gtrack_had_tag(run, i, &text); i++)
        key = !strcmp(text, "tagged") ? gtrack_had_tag(run, i, &text) : key;
    ok(good && key && !strcmp(key, "zz"),
       "a resumed run tells the parameters and tags that it had");
    key = gtrack_had_metric(run, 1, &last);
    ok(key && !strcmp(key, "loss") && last == 40 &&
           !gtrack_had_metric(run, 2, &last),
       "a resumed run tells the last values that it had");
    gtrack_rewind(run, 2);
    key = gtrack_had_metric(run, 0, &last);
    ok(key && !strcmp(key, "loss") && last == 20 &&
           !gtrack_had_metric(run, 1, &last),
       "a run that is rewound tells the values of the step it goes back to");
    gtrack_end(run, GTRACK_FINISHED, why);
}

static void *log_many(void *arg)
{
    static atomic_int step; /* equal points would be written once */

    for (int i = 0; i < 10000; i++) {
        const double row[] = { atomic_fetch_add(&step, 1), 1, 1 };

        gtrack_row(arg, row);
    }
    return NULL;
}

static void log_in_threads(void)
{
    static const char *const key[] = { "a", "b" };
    struct gtrack *run[3];
    pthread_t thread[6];
    int good = 0;

    for (int i = 0; i < 3; i++)
        run[i] = begin(NULL, NULL);
    for (int i = 0; i < 6; i++)
        pthread_create(&thread[i], NULL, log_many,
                       gtrack_keys(run[i % 3], key, 2));
    for (int i = 0; i < 6; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 3; i++) {
        char path[1024], line[256];
        int lines = 0;
        FILE *fp;

        snprintf(path, sizeof path, "%s/metrics/b", gtrack_folder(run[i]));
        gtrack_end(run[i], GTRACK_FINISHED, why);
        fp = fopen(path, "r");
        while (fp && fgets(line, sizeof line, fp))
            lines++;
        if (fp)
            fclose(fp);
        good += lines == 20000;
    }
    ok(good == 3, "six threads log 20000 points each way to three runs");
}

int main(void)
{
    char command[64];

    if (!mkdtemp(root))
        return 1;
    log_rows();
    log_large_steps();
    choose_id();
    record_dataset();
    rename_run();
    check_sizes();
    if (MAY_FORK)
        fork_child();
    else
        skip("AddressSanitizer", "a child is forked beside threads");
    end_at_exit();
    tell_what_it_had();
    log_in_threads();
    snprintf(command, sizeof command, "rm -rf %s", root);
    ok(system(command) == 0, "the store of the test is removed");
    return done_testing();
}
