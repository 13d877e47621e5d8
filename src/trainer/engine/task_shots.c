#include "config.h"
#include "trainer/engine/task_shots.h"

#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---------------------------------------------------- */

/* Those of random.Random(1234) in Python, by the Mersenne twister MT19937. */
enum { SEED = 1234, WORDS = 624, MIDDLE = 397 };

static void seed(struct task_shots *s)
{
    uint32_t *x = s->word;

    x[0] = 19650218;
    for (uint32_t i = 1; i < WORDS; i++)
        x[i] = 1812433253 * (x[i - 1] ^ x[i - 1] >> 30) + i;
    for (uint32_t k = 0, i = 1; k < 2 * WORDS - 1; k++) {
        const uint32_t last = x[i - 1] ^ x[i - 1] >> 30;

        x[i] = k < WORDS ? (x[i] ^ last * 1664525) + SEED
                         : (x[i] ^ last * 1566083941) - i;
        if (++i == WORDS) {
            x[0] = x[WORDS - 1];
            i = 1;
        }
    }
    x[0] = 1U << 31;
    s->used = WORDS;
}

static uint32_t draw_word(struct task_shots *s)
{
    uint32_t *x = s->word, y;

    for (int i = 0; i < WORDS && s->used == WORDS; i++) {
        y = (x[i] & 1U << 31) | (x[(i + 1) % WORDS] & ~(1U << 31));
        x[i] = x[(i + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
    }
    s->used %= WORDS;
    y = x[s->used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680;
    y ^= y << 15 & 0xefc60000;
    return y ^ y >> 18;
}

static size_t draw_below(struct task_shots *s, size_t n)
{
    const int unused = __builtin_clz((uint32_t)n);
    size_t drawn;

    do
        drawn = draw_word(s) >> unused;
    while (drawn >= n);
    return drawn;
}

/* Python's random.sample() of k from n, which are used up.  Of few, the last
 * takes the place of the one drawn; of many, one that was drawn is drawn
 * again. */
static void draw(struct task_shots *s, const struct task_shot **from, size_t n,
                 size_t k, const struct task_shot **out)
{
    size_t few = 1, at;

    while (k > 5 && few < 3 * k)
        few *= 4;
    few = k > 5 ? few + 21 : 21;
    for (size_t i = 0; i < k; i++) {
        do
            at = draw_below(s, n <= few ? n - i : n);
        while (!from[at]);
        out[i] = from[at];
        from[at] = n <= few ? from[n - i - 1] : NULL;
    }
}

/* ---- shots ------------------------------------------------------------- */

static int add_shot(void *arg, const struct task_question *q, const char *line,
                    struct err *e)
{
    const struct task_choice *right = &q->choice[q->right];
    struct task_shots *s = arg;

    (void)e;
    APPEND(s->shot, s->n, s->room) = (struct task_shot){
        .line = arena_strdup(&s->mem, line),
        .text = arena_printf(&s->mem, "%s%s\n\n", right->context,
                             right->continuation),
        .same = arena_strdup(&s->mem, q->same),
    };
    return 0;
}

int64_t task_shots_open(struct task_shots *s, const struct task *task,
                        struct err *e)
{
    *s = (struct task_shots){ .task = task };
    seed(s);
    return task->shots > 0
               ? task_each(task, task->shots_path, 0, add_shot, s, e)
               : 0;
}

void task_shots_close(struct task_shots *s)
{
    free(s->shot);
    arena_clear(&s->mem);
}

int task_shots_add(struct task_shots *s, const struct task_question *q,
                   const char *line, struct buf *out, struct err *e)
{
    const char *const *is = s->task->is;
    const bool first = is[TASK_SHOTS_SAME];
    const bool others =
        !first && (is[TASK_SHOTS_OTHERS] || !is[TASK_SHOTS_FILE]);
    const size_t count = (size_t)s->task->shots, start = out->len;
    const struct task_shot **list = xcalloc(2 * s->n + 1, sizeof *list);
    const struct task_shot **shot = first ? list : list + s->n;
    size_t added = 0;

    /* Where the question may be among them, one more is drawn; if it was drawn
     * more than once, all are drawn again, from the others. */
    for (size_t want = count + others; added < count && want >= count; want--) {
        size_t n = 0;

        for (size_t i = 0; i < s->n; i++)
            if (strcmp(s->shot[i].same, q->same) == 0 &&
                (!others || want > count || strcmp(s->shot[i].line, line) != 0))
                list[n++] = &s->shot[i];
        if (!first && n >= want)
            draw(s, list, n, want, shot);
        buf_trim(out, start);
        added = 0;
        for (size_t i = 0; i < want && n >= want && added < count; i++)
            if (!others || strcmp(shot[i]->line, line) != 0) {
                buf_str(out, shot[i]->text);
                added++;
            }
    }
    free(list);
    return added == count
               ? 0
               : err_set(e, ERR_INPUT,
                         "there are too few questions for %zu shots", count);
}
