#include "config.h"
#include "common/output/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/utf8.h"

/* Seconds: the least between two drawings, the most between two lines, and how
 * long a unit takes before its parts are shown. */
static const double REDRAW = 0.1, LINE = 30.0, LONG = 2.0;

/* The one on the screen, which makes room for log lines. */
static struct progress *showing;

static void step_aside(void)
{
    if (showing && showing->terminal)
        fputs("\r\033[K", stderr);
}

void progress_open(struct progress *p, long first, long total, const char *unit)
{
    const char *term = getenv("TERM");

    *p = (struct progress){ .total = total,
                            .unit = unit,
                            .first = first,
                            .at = first,
                            .next_line = first + 1 };
    p->start = p->reached = clock_mono();
    p->shown = p->start - LINE;
    p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    showing = p;
    log_before(step_aside);
}

/* Seconds left, or -1 while that is not known. */
static double seconds_left(const struct progress *p)
{
    const long done = p->at - p->first;

    if (done <= 0 || p->total <= p->at)
        return p->total && p->at >= p->total ? 0 : -1;
    return (clock_mono() - p->start) / (double)done *
           (double)(p->total - p->at);
}

static int columns(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col
                                                                      : 80;
}

/* "####----" of the part that is done */
static void draw_bar(char *out, size_t width, const struct progress *p)
{
    static const char *const eighth[] = {
        " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"
    };
    const double part = (double)p->at / (double)p->total;
    const double cells = (part > 1 ? 1 : part) * (double)width;
    const size_t full = (size_t)cells;

    *out = '\0';
    for (size_t i = 0; i < width; i++)
        out =
            stpcpy(out, i < full    ? "█"
                        : i == full ? eighth[(int)((cells - (double)full) * 8)]
                                    : " ");
}

/* "step 12/4576", or "step 13/4576: 3 of 16" */
static int write_head(char out[64], const struct progress *p)
{
    char total[24] = "", part[64] = "";

    if (p->total)
        snprintf(total, sizeof total, "/%ld", p->total);
    if (p->parts)
        snprintf(part, sizeof part, ": %ld of %ld", p->part, p->parts);
    return snprintf(out, 64, "%s %ld%s%s", p->unit, p->at + (p->parts > 0),
                    total, part);
}

/* How much of the text fits: whole parts of it, or some of the first. */
static int fitting(const char *text, int room)
{
    int fits = 0;

    if (room <= 0)
        return 0;
    for (const char *end = text; *end; end += strspn(end, " ")) {
        const char *next = strstr(end, "  ");

        end = next ? next : end + strlen(end);
        if (end - text <= room)
            fits = (int)(end - text);
    }
    return fits > 0 ? fits : room;
}

static void draw(const struct progress *p)
{
    enum { BAR = 20 };
    char bar[BAR * 4 + 1] = "", left[NUM_TEXT] = "", head[64];
    const double secs = seconds_left(p);
    const int wide = columns();
    AUTO(buf_clear) struct buf text = BUF_INIT; /* may name foreign files */
    int room;

    utf8_visible(&text, p->text);
    if (p->total)
        draw_bar(bar, wide >= 100 ? BAR : BAR / 2, p);
    if (secs >= 0)
        num_duration(left, secs);
    /* what remains of the line, so that it never wraps */
    room = wide - write_head(head, p) - 3 -
           (p->total ? (wide >= 100 ? BAR : BAR / 2) + 2 : 0) -
           (secs >= 0 ? (int)strlen("  left ") + (int)strlen(left) : 0);
    fprintf(stderr, "\r\033[K%s%s%s%s  %.*s%s%s", p->total ? "▕" : "", bar,
            p->total ? "▏" : "", head, fitting(text.s, room), text.s,
            secs >= 0 ? "  left " : "", left);
    fflush(stderr);
}

static void line(const struct progress *p)
{
    char left[NUM_TEXT] = "", head[64];
    const double secs = p->total ? seconds_left(p) : 0;

    write_head(head, p);
    if (secs > 0)
        num_duration(left, secs);
    log_info("%s%s%s%s%s", head, *p->text ? "  " : "", p->text,
             secs > 0 ? "  left " : "", left);
}

void progress_at(struct progress *p, long done, const char *text)
{
    const double now = clock_mono();

    p->at = done;
    p->parts = 0;
    p->reached = now;
    snprintf(p->text, sizeof p->text, "%s", text);
    if (p->terminal) {
        if (now - p->shown < REDRAW && done != p->total)
            return;
        draw(p);
        p->shown = now;
    } else if (done >= p->next_line || now - p->shown >= LINE ||
               done == p->total) {
        line(p);
        p->next_line = p->at + (p->total > 50 ? p->total / 50 : 1);
        p->shown = now;
    }
}

void progress_within(struct progress *p, long part, long parts)
{
    const double now = clock_mono();
    const double since = p->shown > p->reached ? p->shown : p->reached;

    if (now - p->reached < LONG || now - since < (p->terminal ? REDRAW : LINE))
        return;
    p->part = part;
    p->parts = parts;
    if (p->terminal)
        draw(p);
    else
        line(p);
    p->shown = now;
}

void progress_close(struct progress *p)
{
    if (showing != p)
        return;
    if (p->terminal)
        draw(p);
    showing = NULL;
    log_before(NULL);
    if (p->terminal)
        fputc('\n', stderr);
}
