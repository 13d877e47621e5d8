/*
 * save - a file is replaced whole, beside others who save it and who were
 * killed while they did
 */
#include "config.h"
#include "common/save.h"
#include "common/buf.h"
#include "common/path.h"
#include "t/lib/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool holds(const char *path, const char *text)
{
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    const bool same =
        buf_read_file(&b, path, 1000, &e) == 0 && strcmp(b.s, text) == 0;

    buf_clear(&b);
    return same;
}

static size_t files_here(void)
{
    struct path_list l = { 0 };
    struct err e = { 0 };
    size_t n;

    path_list(&l, ".", &e);
    n = l.n;
    path_list_clear(&l);
    return n;
}

/* A process that begins to save the file and is killed. */
static void save_and_die(const char *path)
{
    const pid_t pid = fork();

    if (pid == 0) {
        struct save s = { 0 };
        struct err e = { 0 };

        save_open(&s, path, &e);
        raise(SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

/* Processes that save one file again and again; how many failed to? */
static int save_at_once(const char *path)
{
    enum { PROCESSES = 8, TIMES = 100 };
    int failed = 0, status;

    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            struct err e = { 0 };
            int ret = 0;

            for (int k = 0; k < TIMES && ret == 0; k++)
                ret = save_text(path, "all", &e);
            if (ret < 0)
                diag("%s", e.text);
            _exit(ret < 0);
        }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed;
}

int main(void)
{
    char folder[] = "/tmp/save.XXXXXX";
    struct save a = { 0 }, b = { 0 };
    struct err e = { 0 };

    if (!mkdtemp(folder) || chdir(folder) < 0)
        return 1;
    ok(save_text("x", "one", &e) == 0 && holds("x", "one"),
       "a file is saved: %s", e.text);
    save_and_die("x");
    ok(holds("x", "one") && files_here() == 2,
       "a killed process leaves the old file and a temporary one");
    save_and_die("x");
    ok(files_here() == 2, "the next one takes the place of the temporary file");
    ok(save_text("x", "two", &e) == 0 && holds("x", "two") && files_here() == 1,
       "what a killed process left is gone after the next save: %s", e.text);
    ok(save_open(&a, "x", &e) == 0 && save_open(&b, "x", &e) == 0 &&
           strcmp(a.temp, b.temp) != 0,
       "two who save the same file write to two: %s", e.text);
    fputs("of a", a.fp);
    fputs("of b", b.fp);
    ok(save_commit(&b, &e) == 0 && holds("x", "of b") &&
           save_commit(&a, &e) == 0 && holds("x", "of a") && files_here() == 1,
       "each of them is the whole file in turn: %s", e.text);
    ok(save_open(&a, "x", &e) == 0, "a file is being saved: %s", e.text);
    save_and_die("x");
    ok(files_here() == 3 && save_commit(&a, &e) == 0 && files_here() == 2 &&
           save_text("x", "all", &e) == 0 && files_here() == 1,
       "what a process left that was killed beside another one is gone after "
       "the next save: %s",
       e.text);
    ok(save_at_once("x") == 0 && holds("x", "all") && files_here() == 1,
       "eight processes that save one file at once all succeed");
    path_remove(folder, &e);
    return done_testing();
}
