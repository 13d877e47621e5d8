/*
 * param_rates - how fast each parameter is updated, by optim.group.N
 */
#include "config.h"
#include "trainer/model/optim.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"

static const char *const kinds[GROUP_COUNT] = {
    [GROUP_MATRIX] = "matrix",
    [GROUP_EMBED] = "embed",
    [GROUP_HEAD] = "head",
    [GROUP_VECTOR] = "vector",
};

/* What a group says; -1 stands for what it does not. */
struct group {
    char pattern[64];
    double lr, beta1, decay;
    bool is_factor; /* lr */
};

/* The next word of a group; false at the end, or if it is too long. */
static bool next_word(const char **at, char word[64])
{
    const char *separators = ", \t";
    const char *from = *at + strspn(*at, separators);
    const size_t n = strcspn(from, separators);

    *at = from + n;
    if (n == 0 || n >= 64)
        return false;
    memcpy(word, from, n);
    word[n] = '\0';
    return true;
}

/* key=number, and for the rate also key=numberx */
static bool read_value(struct group *g, char *word)
{
    const struct {
        const char *key;
        double *to, most;
    } keys[] = { { "lr=", &g->lr, 1e6 },
                 { "beta1=", &g->beta1, 0.9999999 },
                 { "decay=", &g->decay, 100 } };
    const size_t n = strlen(word);

    if (strncmp(word, "lr=", 3) == 0 && word[n - 1] == 'x') {
        g->is_factor = true;
        word[n - 1] = '\0';
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t skip = strlen(keys[i].key);

        if (strncmp(word, keys[i].key, skip) == 0)
            return *keys[i].to < 0 && num_real(word + skip, keys[i].to) &&
                   *keys[i].to >= 0 && *keys[i].to <= keys[i].most;
    }
    return false;
}

static bool read_group(const char *text, struct group *g)
{
    char word[64];

    *g = (struct group){ .lr = -1, .beta1 = -1, .decay = -1 };
    if (!next_word(&text, g->pattern) || strchr(g->pattern, '='))
        return false;
    while (next_word(&text, word))
        if (!read_value(g, word))
            return false;
    return !*text && (g->lr >= 0 || g->beta1 >= 0 || g->decay >= 0);
}

static bool is_in(const struct group *g, const struct graph_param *p)
{
    return strcmp(g->pattern, kinds[p->group]) == 0 ||
           fnmatch(g->pattern, p->name, 0) == 0;
}

int64_t param_rates_count(const char *group, const struct graph *graph)
{
    struct group g;
    int64_t n = 0;

    for (int i = 0; read_group(group, &g) && i < graph->n_params; i++)
        n += is_in(&g, &graph->param[i]) ? graph->param[i].count : 0;
    return n;
}

int param_rates_check(const struct settings *c, const struct graph *graph,
                      struct err *e)
{
    for (int i = 0; i < OPTIM_GROUPS; i++) {
        const char *text = c->optim.group[i];
        struct group g;
        char key[32];

        snprintf(key, sizeof key, "optim.group.%d", i + 1);
        if (!*text)
            continue;
        if (!read_group(text, &g))
            return conf_fail(&c->conf, key, e,
                             "expects a pattern and values, such as "
                             "'embed, lr=0.3x, beta1=0.8, decay=0', not '%s'",
                             text);
        if (param_rates_count(text, graph) == 0)
            return conf_fail(&c->conf, key, e,
                             "no parameter of the model is '%s'; use embed, "
                             "head, matrix, vector, or a pattern for names "
                             "such as %s",
                             g.pattern, graph->param[0].name);
        if (g.lr >= 0 && !g.is_factor && c->optim.lr <= 0)
            return conf_fail(&c->conf, key, e,
                             "lr=%g requires optim.lr > 0, whose schedule it "
                             "follows",
                             g.lr);
    }
    return 0;
}

/* What a rate is divided by for a matrix whose inputs are `width` times those
 * at the base: Adam's updates have elements of one size, Muon's one norm,
 * unless they are scaled to be like Adam's (Yang and others 2022,
 * arXiv:2203.03466, table 3).  The decay per step stays (Wang and Aitchison
 * 2024, arXiv:2405.13698). */
static double by_width(const struct optim_settings *c, double width, bool muon)
{
    if (!muon)
        return width;
    return c->muon_scale == MUON_SCALE_ORIGINAL ? 1 : sqrt(width);
}

struct param_rates param_rates_of(const struct optim_settings *c,
                                  const struct graph_param *p, bool muon,
                                  bool decayed)
{
    const double usual = !muon ? 1 : c->lr > 0 ? c->muon_lr / c->lr : 0;
    struct param_rates r = { usual, -1, decayed ? c->decay : 0 };
    struct group g;

    for (int i = 0; i < OPTIM_GROUPS; i++) {
        if (!read_group(c->group[i], &g) || !is_in(&g, p))
            continue;
        if (g.lr >= 0)
            r.lr_factor = g.is_factor ? usual * g.lr : g.lr / c->lr;
        if (g.beta1 >= 0)
            r.beta1 = g.beta1;
        if (g.decay >= 0)
            r.decay = g.decay;
    }
    if (p->width > 0) {
        const double by = by_width(c, p->width, muon);

        r.lr_factor /= by;
        r.decay *= by;
    }
    return r;
}
