#include "config.h"
#include "plot/request.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"

bool request_bound(const char *text, size_t n, double *out)
{
    char one[64];
    int64_t whole;
    uint64_t bytes;

    *out = NAN;
    if (n == 0 || (n == 1 && *text == '*'))
        return true;
    if (n >= sizeof one)
        return false;
    memcpy(one, text, n);
    one[n] = '\0';
    if (num_int(one, &whole)) {
        *out = (double)whole;
        return true;
    }
    if (num_real(one, out))
        return isfinite(*out);
    if (one[n - 1] == 'B' && num_size(one, &bytes)) {
        *out = (double)bytes;
        return true;
    }
    return num_secs(one, out);
}

static int parse_range(const char *option, const char *text, double *lo,
                       double *hi, struct err *e)
{
    const char *colon;

    *lo = *hi = NAN;
    if (!text)
        return 0;
    colon = strchr(text, ':');
    if (!colon || !request_bound(text, (size_t)(colon - text), lo) ||
        !request_bound(colon + 1, strlen(colon + 1), hi))
        return err_usage(
            e, "--%s expects LOW:HIGH, either may be omitted, not '%s'", option,
            text);
    if (*lo >= *hi)
        return err_usage(e, "--%s: %s is not below %s", option, text,
                         colon + 1);
    return 0;
}

/* "8.4cm" in points. */
static bool parse_length(const char *text, size_t n, double *out)
{
    static const struct {
        const char *unit;
        double points;
    } units[] = { { "cm", 72 / 2.54 },
                  { "mm", 72 / 25.4 },
                  { "in", 72 },
                  { "pt", 1 },
                  { "px", 0.75 } };
    char number[32];

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t len = strlen(units[i].unit);

        if (n <= len || n - len >= sizeof number ||
            strncmp(text + n - len, units[i].unit, len) != 0)
            continue;
        memcpy(number, text, n - len);
        number[n - len] = '\0';
        if (!num_real(number, out))
            return false;
        *out *= units[i].points;
        return *out >= 72 && *out <= 72 * 200;
    }
    return false;
}

static int parse_size(struct request *r, struct err *e)
{
    const char *x;

    r->width = r->height = 0;
    if (!r->size)
        return 0;
    x = strpbrk(r->size, "x,");
    if (x && x > r->size && x[-1] == 'p' && *x == 'x') /* of "px" */
        x++;
    if (!x || !parse_length(r->size, (size_t)(x - r->size), &r->width) ||
        !parse_length(x + 1, strlen(x + 1), &r->height))
        return err_usage(e,
                         "--size expects a width and a height of "
                         "1 to 200 inches (8.4cmx6cm, 5inx3in, 800pxx500px), "
                         "not '%s'",
                         r->size);
    return 0;
}

static int parse_font(struct request *r, struct err *e)
{
    const char *comma = r->font ? strrchr(r->font, ',') : NULL;
    size_t n;

    r->font_size = 0;
    r->font_name[0] = '\0';
    if (!r->font)
        return 0;
    n = comma ? (size_t)(comma - r->font) : strlen(r->font);
    if (comma && (!num_real(comma + 1, &r->font_size) ||
                  !(r->font_size >= 4 && r->font_size <= 72)))
        return err_usage(e,
                         "--font expects NAME, NAME,SIZE or ,SIZE "
                         "with a size of 4 to 72 points, not '%s'",
                         r->font);
    if (n >= sizeof r->font_name || strcspn(r->font, "'\"\\\n") < n)
        return err_usage(e, "--font: '%s' is not the name of a font", r->font);
    memcpy(r->font_name, r->font, n);
    r->font_name[n] = '\0';
    return 0;
}

static int parse_marks(struct request *r, struct err *e)
{
    static const char *const words[] = {
        [SHOW_RESUME] = "resume", [SHOW_CHECKPOINT] = "checkpoint",
        [SHOW_BEST] = "best",     [SHOW_SPIKE] = "spike",
        [SHOW_EVAL] = "eval",     NULL
    };
    const char *at = r->mark;
    char list[80];

    opt_list_words(words, list, sizeof list);
    while (at && *at) {
        const size_t n = strcspn(at, ",");
        AUTO_FREE char *word = xstrndup(at, n);
        const int i = opt_find_word(words, word);

        if (i < 0)
            return err_usage(e, "--mark expects %s, not '%.*s'", list, (int)n,
                             at);
        r->marks |= 1U << i;
        at += n + (at[n] == ',');
    }
    return 0;
}

int request_parse(struct request *r, struct err *e)
{
    const char *env = str_env("GTRACK_ROOT");
    const int axis = r->x ? opt_find_word(option_axes, r->x) : ALONG_STEP;

    if (!r->root)
        r->root = env ? env : "mlruns";
    if (r->every <= 0)
        r->every = 2;
    r->along = axis < 0 ? ALONG_METRIC : (enum along)axis;
    if (r->smooth && !smooth_parse(r->smooth, &r->how))
        return err_usage(e,
                         "--smooth expects auto, none, ema:0.98 (0 to 1), "
                         "ma:50 or gauss:20 (points), not '%s'",
                         r->smooth);
    if (r->panel_label && (strlen(r->panel_label) != 1 ||
                           !isalpha((unsigned char)*r->panel_label)))
        return err_usage(e, "--panel-label expects a letter, not '%s'",
                         r->panel_label);
    if (r->skip < 0)
        return err_usage(e, "--skip expects a number of steps");
    if (r->stitch && r->attempts)
        return err_usage(e, "--stitch and --attempts exclude each other");
    if (r->forecast &&
        (r->along != ALONG_STEP || r->stitch || r->attempts || r->group_by))
        return err_usage(e,
                         "--forecast draws single runs against steps; use it "
                         "without --x, --stitch, --attempts and --group-by");
    if ((r->logx && r->linx) || (r->logy && r->liny))
        return err_usage(e, "an axis cannot be both logarithmic and linear");
    if (r->mono && r->dark)
        return err_usage(e, "--mono and --dark exclude each other");
    r->y_whole = r->yrange && strcmp(r->yrange, "all") == 0;
    if (parse_range("xrange", r->xrange, &r->x_lo, &r->x_hi, e) < 0 ||
        parse_range("yrange", r->y_whole ? NULL : r->yrange, &r->y_lo, &r->y_hi,
                    e) < 0 ||
        parse_range("inset", r->inset, &r->inset_lo, &r->inset_hi, e) < 0)
        return -1;
    if (r->inset && (isnan(r->inset_lo) || isnan(r->inset_hi)))
        return err_usage(e, "--inset expects both ends: FROM:TO");
    if (parse_size(r, e) < 0 || parse_font(r, e) < 0)
        return -1;
    return parse_marks(r, e);
}

void request_axes(const struct request *r, struct panel *p)
{
    if (r->logx || r->linx)
        p->x.scale = r->logx ? SCALE_LOG : SCALE_LINEAR;
    if (r->logy || r->liny)
        p->y.scale = r->logy ? SCALE_LOG : SCALE_LINEAR;
    p->y.whole = r->y_whole;
    /* whoever asks for a part of x wants to see what happens there */
    if (r->xrange || r->skip > 0 || r->inset)
        p->y.settles = false;
    if (r->xrange)
        p->y.from_zero = false;
    p->x.lo = r->x_lo;
    p->x.hi = r->x_hi;
    p->y.lo = r->y_lo;
    p->y.hi = r->y_hi;
    p->inset_lo = r->inset_lo;
    p->inset_hi = r->inset_hi;
    p->legend = r->legend;
}

void request_look(const struct request *r, struct figure *f)
{
    const char *out = r->output ? r->output : "";

    f->look.theme = r->dark ? THEME_DARK : r->mono ? THEME_MONO : THEME_LIGHT;
    if (r->width <= 0 && (str_ends(out, ".tex") || str_ends(out, ".tikz"))) {
        f->look.width = 326; /* the text of an article, less an indentation */
        f->look.height = 204;
    }
    if (r->width > 0) {
        if (r->width < 280)
            f->look.font_size = 8; /* one column of a paper */
        f->look.columns = (int)(f->look.columns * r->width / f->look.width);
        f->look.width = r->width;
        f->look.height = r->height;
    }
    if (r->font_size > 0)
        f->look.font_size = r->font_size;
    if (*r->font_name)
        f->look.font = arena_strdup(&f->mem, r->font_name);
    if (r->exact)
        f->look.columns = 0;
    f->look.captioned = r->no_notes;
    if (r->title)
        f->title = *r->title ? arena_strdup(&f->mem, r->title) : NULL;
}

/* ---- options ----------------------------------------------------------- */

struct request plot_request;

const char *const option_axes[] = {
    [ALONG_STEP] = "step", [ALONG_TOKENS] = "tokens", [ALONG_TIME] = "time",
    [ALONG_WALL] = "wall", [ALONG_GPUH] = "gpuh",     [ALONG_FLOPS] = "flops",
    [ALONG_METRIC] = NULL
};

const char *const option_bands[] = { [BAND_STD] = "std",
                                     [BAND_SEM] = "sem",
                                     [BAND_CI95] = "ci95",
                                     [BAND_MINMAX] = "minmax",
                                     NULL };

const char *const option_terms[] = { "auto",  "own",   "dumb", "block",
                                     "sixel", "kitty", NULL };

const struct opt curve_opts[] = { CURVE_OPTS, { 0 } };

const struct opt report_opts[] = {
    COMMON_OPTS,
    SWEEP_OPT,
    X_OPT,
    SKIP_OPT,
    SMOOTH_OPT,
    { 0, "baseline", "name=value", OPT_LIST, &plot_request.baseline,
      "draw a line at VALUE in the figure of HellaSwag; may be given many "
      "times" },
    LOOK_OPTS,
    { 0 }
};
