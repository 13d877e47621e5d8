/*
 * gtrack watch - show a table of runs with curves, and update it
 */
#include "config.h"

#include <math.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/sig.h"
#include "common/utf8.h"
#include "store/alert/alert_list.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

/* Append a curve as one line of text.  The series is divided into at most
 * `max_width` equal ranges of steps.  Each shows the mean of its finite values
 * as a block of one to eight eighths of the height between the lowest and the
 * highest mean.  A range without a point is blank; one without a finite value
 * shows "x".  Without UTF-8 the blocks are "_.-=*#". */
static void add_curve(struct buf *b, const struct series *s, size_t max_width)
{
    const size_t width = s->n < max_width ? s->n : max_width;
    static const char *const blocks[] = {
        "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
    };
    static const char *const plain[] = { "_", ".", "-", "=", "*", "#" };
    const bool utf8 = utf8_locale();
    const size_t levels = utf8 ? 8 : 6;
    AUTO_FREE double *sum = xcalloc(width, sizeof *sum);
    AUTO_FREE size_t *finite = xcalloc(width, sizeof *finite);
    AUTO_FREE size_t *points = xcalloc(width, sizeof *points);
    double lowest = (double)INFINITY, highest = -(double)INFINITY;

    for (size_t i = 0; i < s->n; i++) {
        const double span = (double)(s->step[s->n - 1] - s->step[0]) + 1;
        const double at = (double)(s->step[i] - s->step[0]) / span;
        const size_t k = (size_t)(at * (double)width);

        points[k]++;
        if (isfinite(s->value[i])) {
            sum[k] += s->value[i];
            finite[k]++;
        }
    }
    for (size_t k = 0; k < width; k++) {
        if (!finite[k])
            continue;
        sum[k] /= (double)finite[k];
        lowest = fmin(lowest, sum[k]);
        highest = fmax(highest, sum[k]);
    }
    for (size_t k = 0; k < width; k++) {
        const double height =
            highest > lowest ? (sum[k] - lowest) / (highest - lowest) : 0.5;
        const size_t level = (size_t)(height * (double)(levels - 1) + 0.5);

        if (!points[k])
            buf_char(b, ' ');
        else if (!finite[k])
            buf_char(b, 'x');
        else
            buf_str(b, utf8 ? blocks[level] : plain[level]);
    }
}

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *curve, *columns_text;
static double every = 2;
static int count;
static bool raise_alerts;

static const struct opt watch_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    TRACK_OPTS_SELECTION(selection),
    { 'c', "columns", "list", OPT_STRING, &columns_text,
      "show these columns, as in name,status,min(val/loss)" },
    { 'm', "metric", "metric", OPT_STRING, &curve,
      "draw the curve of this metric (default: train/loss or another common "
      "metric)" },
    { 0, "every", "time", OPT_SECS, &every,
      "update the table at this interval (default: 2s)",
      .range = OPT_FROM(0.1) },
    { 0, "count", "number", OPT_INT, &count,
      "stop after drawing the table NUMBER times" },
    { 0, "alerts", NULL, OPT_FLAG, &raise_alerts,
      "also raise the alerts of the file that GTRACK_ALERTS names" },
    TABLE_OPT_COLOR(style),
    { 0 }
};

enum { SPARK_WIDTH = 24 };

/* The first of the default metrics, which is the loss if there is one. */
static const char *default_curve(const struct runs *runs, struct columns *keep)
{
    auto_columns_metrics(keep, runs, false);
    return keep->n ? keep->item[0].key : NULL;
}

static void add_spark(struct table *t, const struct run_info *r,
                      const char *metric)
{
    AUTO(series_free) struct series s = { 0 };
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (metric && run_info_metric(r, metric) &&
        series_load(&s, r, metric, 0, ERR_IGNORED) == 0) {
        add_curve(&b, &s, SPARK_WIDTH);
        table_text(t, b.s);
    } else {
        table_none(t);
    }
}

static int list_columns(struct columns *c, const struct runs *runs,
                        struct err *e)
{
    if (columns_text)
        return columns_parse(c, columns_text, runs, e);
    columns_attribute(c, "name");
    columns_add_sorted(c, selection.sort, runs);
    columns_attribute(c, "status");
    columns_attribute(c, "time");
    columns_attribute(c, "steps");
    auto_columns_metrics(c, runs, false);
    return 0;
}

/* "2026-11-21 10:00  mlruns, 12 runs; curve: train/loss", at most `width`. */
static void add_title(struct buf *out, size_t runs, const char *metric,
                      size_t width)
{
    AUTO(buf_clear) struct buf title = BUF_INIT;
    char now[32];

    buf_printf(&title, "%s  %s, %zu runs%s%s", clock_text(now, clock_wall_ms()),
               track_store(), runs, metric ? "; curve: " : "",
               metric ? metric : "");
    if (utf8_width(title.s) > width)
        utf8_cut(out, title.s, width);
    else
        buf_str(out, title.s);
    buf_char(out, '\n');
}

static void fill_table(struct table *t, const struct columns *c,
                       const struct runs *runs, size_t first,
                       const char *metric)
{
    for (size_t j = 0; j < c->n; j++) {
        table_column(t, c->item[j].title);
        if (j == 0)
            table_column(t, "curve");
    }
    for (size_t i = first; i < runs->n; i++) {
        for (size_t j = 0; j < c->n; j++) {
            table_add(t, column_cell(&c->item[j], &runs->run[i]));
            if (j == 0)
                add_spark(t, &runs->run[i], metric);
        }
    }
}

/* Draw the table; if not all runs fit, only the newest. */
static int draw_table(struct buf *out, int n, char **words, bool color,
                      struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("");
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO(columns_clear) struct columns c = { 0 }, defaults = { 0 };
    int rows, width, ret;

    pager_screen(&rows, &width);
    ret = track_select(&runs, &selection, n, words, e);
    if (ret == 0)
        ret = list_columns(&c, &runs, e);
    if (ret == 0) {
        const char *metric = curve ? curve : default_curve(&runs, &defaults);
        const size_t most = rows > 4 ? (size_t)rows - 4 : 1;

        add_title(out, runs.n, metric, (size_t)width);
        fill_table(&t, &c, &runs, runs.n > most ? runs.n - most : 0, metric);
        table_format(&t, TABLE_ALIGNED, true, color, (size_t)width, out);
    }
    return ret;
}

/* The signal interrupts poll(2), and the table is drawn again. */
static void on_resize(int sig UNUSED)
{
}

/* Read single keys, which are not shown. */
static void screen_enter(struct termios *was)
{
    const struct sigaction wake = { .sa_handler = on_resize };
    struct termios raw;

    sigaction(SIGWINCH, &wake, NULL);
    tcgetattr(STDIN_FILENO, was);
    raw = *was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    /* alternate screen, no cursor, no line wrap */
    fputs("\033[?1049h\033[?25l\033[?7l", stdout); /* style: own */
}

static void screen_leave(const struct termios *was)
{
    fputs("\033[?7h\033[?25h\033[?1049l", stdout); /* style: own */
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, was);
}

/* Show a picture in place of the last one, as much of it as fits. */
static void show_picture(struct buf *picture)
{
    int rows, width;
    size_t at = 0;

    pager_screen(&rows, &width);
    for (int i = 1; i < rows && at < picture->len; i++)
        at += strcspn(picture->s + at, "\n") + 1;
    buf_trim(picture, at);
    printf("\033[H\033[J%s%.*s", picture->s, width,
           "press q to quit"); /* style: own */
}

/* Wait until the next picture is due; false after q or a signal. */
static bool wait_for_next(double secs, bool keys)
{
    struct pollfd p = { keys ? STDIN_FILENO : -1, POLLIN, 0 };
    char key;

    const int n = poll(&p, 1, (int)(secs * 1000));

    if (n > 0 && read(STDIN_FILENO, &key, 1) == 1)
        return key != 'q' && key != 3;
    if (n < 0 && errno != EINTR)
        clock_pause(secs);
    return !sig_caught();
}

/* An alert that cannot be delivered is tried again at the next update. */
static void look_at_alerts(struct alert_list *list, int n, char **words)
{
    struct track_words w = { &selection, n, words };
    struct alert_watch watch = { .list = list,
                                 .root = track_store(),
                                 .once = true,
                                 .load = track_select_words,
                                 .arg = &w };
    struct err why = { 0 };

    if (list->n && alert_watch(&watch, &why) < 0)
        log_warn("%s; trying again", why.text);
}

/* Update the table, if there is where to show it, until the last time. */
static int keep_watching(struct alert_list *a, int n, char **words, bool live,
                         struct err *e)
{
    const bool color = table_color(&style, STDOUT_FILENO);
    AUTO(buf_clear) struct buf picture = BUF_INIT;
    int ret = 0;

    for (int i = 0; (!count || i < count) && !sig_caught(); i++) {
        look_at_alerts(a, n, words);
        buf_trim(&picture, 0);
        if (live || count)
            ret = draw_table(&picture, n, words, color, e);
        if (ret < 0)
            break;
        if (live)
            show_picture(&picture);
        else
            fwrite(picture.s, 1, picture.len, stdout); /* style: own */
        fflush(stdout);
        if ((count && i + 1 == count) || !wait_for_next(every, live))
            break;
    }
    return ret;
}

static int check_options(bool live, struct err *e)
{
    if (table_form(&style, e) < 0)
        return -1;
    if (!live && !count && !raise_alerts)
        return err_usage(e, "watch needs a terminal; use --count to "
                            "draw the table to a pipe or a file");
    return 0;
}

static int watch_main(int argc, char **argv, struct err *e)
{
    const bool live = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    AUTO(alert_list_clear) struct alert_list alerts = { 0 };
    struct termios was;
    int ret = check_options(live, e);

    if (ret == 0 && raise_alerts)
        ret = alert_list_read(&alerts, e);
    if (ret == 0) {
        sig_watch();
        if (live)
            screen_enter(&was);
        ret = keep_watching(&alerts, argc, argv, live, e);
        if (live)
            screen_leave(&was);
    }
    return ret;
}

/* Alerts run commands and open connections. */
static void confine_watch(void)
{
    if (!raise_alerts)
        track_confine_reader();
}

const struct cmd cmd_watch = {
    .name = "watch",
    .args = "[RUN|FILTER]...",
    .help = "show a table of runs with curves, and update it",
    .opts = watch_opts,
    .confine = confine_watch,
    .run = watch_main,
};
