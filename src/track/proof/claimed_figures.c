#include "config.h"
#include "track/proof/claimed_figures.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"

/* The text before a path, the text that ends it, and what LaTeX may add. */
static const struct form {
    const char *begin, *open, *close;
    const char *ends[4];
    bool tex;
} forms[] = {
    { "\\includegraphics", "{", "}", { ".pdf", ".png", ".eps" }, true },
    { "\\input", "{", "}", { ".tex" }, true },
    { "![", "](", ")", { NULL }, false },
};

enum { FORMS = sizeof forms / sizeof forms[0] };

static char *join_file(const char *folder, const char *name, const char *end)
{
    char *path = *name == '/' ? xasprintf("%s%s", name, end)
                              : xasprintf("%s/%s%s", folder, name, end);

    if (path_exists(path) && !path_is_folder(path))
        return path;
    free(path);
    return NULL;
}

/* The path of the file that a report names; NULL if there is none. */
static char *find_file(const char *report, const char *name,
                       const struct form *form)
{
    char *folder = path_parent(report);
    char *path = join_file(folder, name, "");

    for (int i = 0; form->ends[i] && !path; i++)
        path = join_file(folder, name, form->ends[i]);
    free(folder);
    return path;
}

static void find_in_line(struct claimed_figures *f, const struct form *form,
                         const char *text, long line, const char *report)
{
    const char *at = text;

    while ((at = strstr(at, form->begin))) {
        const char *open = strstr(at, form->open);
        const char *name = open ? open + strlen(form->open) : NULL;
        const char *close = name ? strstr(name, form->close) : NULL;
        char *word, *path;

        if (!close)
            return;
        word = xstrndup(name, (size_t)(close - name));
        path = find_file(report, word, form);
        free(word);
        if (path) {
            GROW(f->item, f->n, f->room);
            f->item[f->n++] =
                (struct claimed_figure){ .path = path, .line = line };
        }
        at = close;
    }
}

/* End a line of LaTeX where its comment begins. */
static void cut_comment(char *line)
{
    for (char *s = line; (s = strchr(s, '%')); s++)
        if (s == line || s[-1] != '\\') {
            *s = '\0';
            return;
        }
}

void claimed_figures_find(struct claimed_figures *f, const char *text,
                          const char *file)
{
    const bool tex = str_ends(file, ".tex");
    char *copy = xstrdup(text), *at = copy, *line;

    for (long n = 1; (line = strsep(&at, "\n")); n++) {
        if (tex)
            cut_comment(line);
        for (int i = 0; i < FORMS; i++)
            if (forms[i].tex == tex)
                find_in_line(f, &forms[i], line, n, file);
    }
    free(copy);
}

void claimed_figures_clear(struct claimed_figures *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->item[i].path);
    free(f->item);
    *f = (struct claimed_figures)CLAIMED_FIGURES_INIT;
}
