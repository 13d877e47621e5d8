/* spawn - run programs and report how they ended */
#include "config.h"
#include "common/spawn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "t/lib/tap.h"

static int shell(const char *script, struct spawn *s, struct err *e)
{
    const char *const argv[] = { "sh", "-c", script, NULL };

    *e = (struct err){ 0 };
    return spawn_run(argv, s, e);
}

static void moves_both_ways(void)
{
    struct buf in = BUF_INIT, out = BUF_INIT;
    struct spawn s = { .out = &out };
    struct err e;

    for (int i = 0; i < 300000; i++)
        buf_printf(&in, "%d\n", i);
    s.in = in.s;
    s.in_len = in.len;
    ok(shell("cat", &s, &e) == 0, "a program is run");
    ok(out.len == in.len && memcmp(out.s, in.s, in.len) == 0,
       "%zu bytes go in and come out, more than a pipe holds", in.len);
    ok(shell("exit 0", &s, &e) == 0, "a program need not read its input");
    buf_clear(&in);
    buf_clear(&out);
}

static void tells_how_it_ended(void)
{
    struct buf words = BUF_INIT, out = BUF_INIT;
    struct spawn s = { .words = &words };
    const char *const nowhere[] = { "no-such-program-here", NULL };
    struct err e = { 0 };

    ok(shell("echo one >&2; echo '  two' >&2; exit 7", &s, &e) < 0 &&
           s.status == 7,
       "a status other than 0 is a failure");
    ok(strcmp(e.text, "sh: two") == 0,
       "the error of a failure quotes the last line: %s", e.text);
    buf_clear(&words);
    ok(shell("echo 'sh: three' >&2; exit 7", &s, &e) < 0 &&
           strcmp(e.text, "sh: three") == 0,
       "a program that names itself is named once: %s", e.text);
    buf_clear(&words);
    ok(shell("kill -9 $$", &s, &e) < 0 && s.status == 128 + SIGKILL &&
           strstr(e.text, "signal 9"),
       "a signal that ends a program is a failure: %s", e.text);
    e = (struct err){ 0 };
    ok(spawn_run(nowhere, &s, &e) < 0 && e.kind == ERR_MISSING,
       "a missing program has an error of its own: %s", e.text);
    s = (struct spawn){ .out = &out, .secs = 0.2 };
    ok(shell("exec sleep 30", &s, &e) < 0 && strstr(e.text, "longer"),
       "a program that hangs is ended: %s", e.text);
    e = (struct err){ 0 };
    s = (struct spawn){ .secs = 0.2 };
    ok(shell("exec sleep 30", &s, &e) < 0 && strstr(e.text, "longer"),
       "a program that hangs with no pipe of ours is ended: %s", e.text);
    s = (struct spawn){ .out = &out, .max = 1000 };
    ok(shell("exec yes", &s, &e) < 0 && strstr(e.text, "more than"),
       "a program that never stops writing is ended: %s", e.text);
    s = (struct spawn){ .out = &out, .words = &words };
    buf_clear(&out);
    ok(shell("yes | head -n 1", &s, &e) == 0 && words.len == 0 &&
           strcmp(out.s, "y\n") == 0,
       "SIGPIPE ends the children of a program as usual");
    buf_clear(&words);
    buf_clear(&out);
}

static void finds_programs(void)
{
    struct err e = { 0 };
    char *path = spawn_find("sh", &e);

    ok(path && strcmp(strrchr(path, '/'), "/sh") == 0,
       "a program is found in PATH");
    free(path);
    path = spawn_find("no-such-program-here", &e);
    ok(!path && e.kind == ERR_MISSING,
       "a program that is not in PATH is reported: %s", e.text);
}

static int print_and_crash(void *arg)
{
    const char *what = arg;

    printf("%s", what);
    fflush(stdout);
    fprintf(stderr, "test: %s failed\n", what);
    if (strcmp(what, "crash") == 0)
        raise(SIGKILL);
    return strcmp(what, "good") == 0 ? 0 : 3;
}

static void calls_functions(void)
{
    struct buf out = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .out = &out, .words = &words };
    struct err e = { 0 };

    ok(spawn_call("test", print_and_crash, (char[]){ "good" }, &s, &e) == 0 &&
           strcmp(out.s, "good") == 0,
       "the caller reads what a function prints in a child process");
    ok(spawn_call("test", print_and_crash, (char[]){ "bad" }, &s, &e) < 0 &&
           s.status == 3 && strcmp(e.text, "test: bad failed") == 0,
       "the result of a function is its status: %s", e.text);
    buf_clear(&words);
    ok(spawn_call("test", print_and_crash, (char[]){ "crash" }, &s, &e) < 0 &&
           s.status == 128 + SIGKILL,
       "a function that crashes is an error: %s", e.text);
    buf_clear(&out);
    buf_clear(&words);
}

static int start_endless(void *arg)
{
    if (fork() >= 0)
        for (;;)
            pause();
    return arg ? 0 : 1;
}

static void ends_all(void)
{
    struct spawn s = { .whole = true, .secs = 0.05 };
    struct err e = { 0 };
    int held[2];
    char c;

    if (pipe(held) < 0)
        abort();
    ok(spawn_call("test", start_endless, NULL, &s, &e) < 0 &&
           strstr(e.text, "took longer than"),
       "a function has limited time, even if it prints nothing: %s", e.text);
    close(held[1]);
    ok(read(held[0], &c, 1) == 0, "what a function started is killed with it");
    close(held[0]);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    moves_both_ways();
    tells_how_it_ended();
    finds_programs();
    calls_functions();
    ends_all();
    return done_testing();
}
