#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/pager.h"
#include "common/sig.h"
#include "common/utf8.h"
#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/spark.h"

static struct track_choice choice;
static struct table_style style;
static const char *curve, *columns_text;
static double every = 2;
static int count;

static const struct opt watch_opts[] = {
    TRACK_OPTS,
    TRACK_CHOICE_OPTS(choice),
    { 'c', "columns", "list", OPT_STRING, &columns_text,
      "show these columns, as in name,status,min(val/loss)" },
    { 'm', "metric", "metric", OPT_STRING, &curve,
      "draw the curve of this metric (default: train/loss or another common "
      "metric)" },
    { 0, "every", "time", OPT_SECS, &every,
      "update the table at this interval (default: 2s)" },
    { 0, "count", "number", OPT_INT, &count,
      "stop after drawing the table NUMBER times" },
    TABLE_OPT_COLOR(style),
    { 0 }
};

enum { SPARK_WIDTH = 24 };

/* The loss if there is one, else the first metric worth a column. */
static const char *usual_curve(const struct runs *runs, struct columns *keep)
{
    choose_metrics(keep, runs, false);
    return keep->n ? keep->item[0].key : NULL;
}

static void put_spark(struct table *t, const struct run_info *r,
                      const char *metric)
{
    struct series s = SERIES_INIT;
    struct err ignored = ERR_INIT;
    struct buf b = BUF_INIT;

    if (metric && run_info_metric(r, metric) &&
        series_load(&s, r, metric, 0, &ignored) == 0) {
        spark(&b, &s, SPARK_WIDTH);
        table_text(t, b.s);
        buf_clear(&b);
        series_free(&s);
    } else {
        table_none(t);
    }
}

static int choose_columns(struct columns *c, const struct runs *runs,
                          struct err *e)
{
    if (columns_text)
        return columns_parse(c, columns_text, runs, e);
    columns_attribute(c, "name");
    columns_sorted(c, choice.sort, runs);
    columns_attribute(c, "status");
    columns_attribute(c, "time");
    columns_attribute(c, "steps");
    choose_metrics(c, runs, false);
    return 0;
}

/* One picture: the runs that fit, the newest if they do not. */
static int draw(struct buf *out, char **words, int n, bool color, struct err *e)
{
    struct table t = TABLE_INIT("");
    struct runs runs = RUNS_INIT;
    struct columns c = COLUMNS_INIT, chosen = COLUMNS_INIT;
    struct buf title = BUF_INIT;
    char now[32];
    const char *metric;
    int rows, width, ret;
    size_t shown;

    pager_screen(&rows, &width);
    ret = track_choose(&runs, &choice, words, n, 0, e);
    if (ret == 0)
        ret = choose_columns(&c, &runs, e);
    if (ret < 0)
        goto out;
    metric = curve ? curve : usual_curve(&runs, &chosen);
    for (size_t j = 0; j < c.n; j++) {
        table_column(&t, c.item[j].title);
        if (j == 0)
            table_column(&t, "curve");
    }
    shown = rows > 4 ? (size_t)rows - 4 : 1;
    for (size_t i = runs.n > shown ? runs.n - shown : 0; i < runs.n; i++) {
        for (size_t j = 0; j < c.n; j++) {
            table_add(&t, column_cell(&c.item[j], &runs.run[i]));
            if (j == 0)
                put_spark(&t, &runs.run[i], metric);
        }
    }
    buf_printf(&title, "%s  %s, %zu runs%s%s", clock_text(now, clock_wall_ms()),
               track_store(), runs.n, metric ? "; curve: " : "",
               metric ? metric : "");
    if (utf8_width(title.s) > (size_t)width)
        utf8_cut(out, title.s, (size_t)width);
    else
        buf_str(out, title.s);
    buf_char(out, '\n');
    table_format(&t, TABLE_ALIGNED, true, color, (size_t)width, out);

out:
    buf_clear(&title);
    table_clear(&t);
    columns_clear(&c);
    columns_clear(&chosen);
    runs_free(&runs);
    return ret;
}

/* It ends poll(2), that is all. */
static void resized(int sig)
{
    (void)sig;
}

/* The terminal as we need it; keys come at once and are not shown. */
static void screen_enter(struct termios *was)
{
    const struct sigaction wake = { .sa_handler = resized };
    struct termios raw;

    sigaction(SIGWINCH, &wake, NULL);
    tcgetattr(STDIN_FILENO, was);
    raw = *was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    /* another screen, no cursor, no second line for what is too long */
    fputs("\033[?1049h\033[?25l\033[?7l", stdout);
}

static void screen_leave(const struct termios *was)
{
    fputs("\033[?7h\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, was);
}

/* Show the picture in place of the last one; what is too high is cut off. */
static void show(struct buf *picture)
{
    int rows, width;
    size_t at = 0;

    pager_screen(&rows, &width);
    for (int i = 1; i < rows && at < picture->len; i++)
        at += strcspn(picture->s + at, "\n") + 1;
    buf_trim(picture, at);
    printf("\033[H\033[J%s%.*s", picture->s, width, "q ends");
}

/* Wait for the next picture; false when it is time to stop. */
static bool pause_for(double secs, bool keys)
{
    struct pollfd p = { keys ? STDIN_FILENO : -1, POLLIN, 0 };
    char key;

    if (poll(&p, 1, (int)(secs * 1000)) > 0 && read(STDIN_FILENO, &key, 1) == 1)
        return key != 'q' && key != 3;
    return !sig_caught();
}

static int watch_main(int argc, char **argv, struct err *e)
{
    const bool live = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    const bool color = table_color(&style, STDOUT_FILENO);
    struct buf picture = BUF_INIT;
    struct termios was;
    int ret = 0;

    if (table_form(&style, e) < 0)
        return -1;
    if (every < 0.1)
        return err_set(e, ERR_USAGE, "--every wants 100ms or more");
    if (!live && !count)
        return err_set(e, ERR_USAGE, "watch wants a terminal, or --count");
    sig_watch();
    if (live)
        screen_enter(&was);
    for (int i = 0; ret == 0 && (!count || i < count) && !sig_caught(); i++) {
        buf_trim(&picture, 0);
        ret = draw(&picture, argv, argc, color, e);
        if (ret < 0)
            break;
        if (live)
            show(&picture);
        else
            fwrite(picture.s, 1, picture.len, stdout);
        fflush(stdout);
        if (count && i + 1 == count)
            break;
        if (!pause_for(every, live))
            break;
    }
    if (live)
        screen_leave(&was);
    buf_clear(&picture);
    return ret;
}

const struct cmd cmd_watch = {
    .name = "watch",
    .args = "[RUN|FILTER]...",
    .help = "show a table of runs with curves, and update it",
    .opts = watch_opts,
    .run = watch_main,
};
