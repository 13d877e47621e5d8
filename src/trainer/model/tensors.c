#include "config.h"
#include "trainer/model/tensors.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "kernels/half.h"

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    { "F64", 8 }, { "F32", 4 }, { "F16", 2 }, { "BF16", 2 }, { "I64", 8 },
    { "I32", 4 }, { "I16", 2 }, { "I8", 1 },  { "U8", 1 },   { "BOOL", 1 },
};

static size_t type_bytes(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].bytes;
    return 0;
}

int64_t tensors_array_count(const struct tensors_array *a)
{
    int64_t n = 1;

    for (int i = 0; i < a->rank; i++)
        n *= a->dim[i];
    return n;
}

/* ---- writing --------------------------------------------------------- */

static json_t *describe_array(const struct tensors_array *a, size_t at)
{
    json_t *shape = json_array();

    for (int i = 0; i < a->rank; i++)
        json_array_append_new(shape, json_integer(a->dim[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", a->type, "shape", shape,
                     "data_offsets", (json_int_t)at,
                     (json_int_t)(at + a->bytes));
}

/* The header, padded with blanks to a multiple of 8 bytes. */
static void make_header(struct buf *out, const struct tensors_array *a, int n)
{
    json_auto_t *header =
        json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    size_t at = 0;
    AUTO_FREE char *text = NULL;

    for (int i = 0; i < n; i++) {
        json_object_set_new(header, a[i].name, describe_array(&a[i], at));
        at += a[i].bytes;
    }
    text = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
    buf_str(out, text);
    while (out->len % 8)
        buf_char(out, ' ');
}

int tensors_write(const char *path, const struct tensors_array *a, int n,
                  struct err *e)
{
    AUTO(buf_clear) struct buf header = BUF_INIT;
    AUTO(save_abandon) struct save s = { 0 };
    unsigned char length[8];

    make_header(&header, a, n);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header.len >> (8 * i));
    if (save_open_here(&s, path, e) < 0)
        return -1;
    fwrite(length, 1, sizeof length, s.fp);
    fwrite(header.s, 1, header.len, s.fp);
    for (int i = 0; i < n; i++)
        fwrite(a[i].data, 1, a[i].bytes, s.fp);
    return save_commit(&s, e);
}

/* ---- reading --------------------------------------------------------- */

struct tensors {
    char *path;
    unsigned char *map;
    size_t size;
    json_t *header;
    struct tensors_array *array;
    int n, room;
};

static int bad_file(const struct tensors *t, const char *what, struct err *e)
{
    return err_input(e, "%s: %s", t->path, what);
}

static int read_array(struct tensors *t, const char *name, json_t *j,
                      size_t from, struct err *e)
{
    struct tensors_array a = { .name = name };
    json_t *shape = json_object_get(j, "shape");
    json_t *offsets = json_object_get(j, "data_offsets");
    const char *type = json_string_value(json_object_get(j, "dtype"));
    const json_int_t begin = json_integer_value(json_array_get(offsets, 0));
    const json_int_t end = json_integer_value(json_array_get(offsets, 1));
    const size_t room = t->size - from;
    size_t elements = 1;

    if (!type || type_bytes(type) == 0)
        return err_input(e, "%s: %s has the unknown type '%s'", t->path, name,
                         type ? type : "");
    if (!json_is_array(shape) || json_array_size(shape) > 4 || begin < 0 ||
        end < begin || (uint64_t)end > room)
        return err_input(e, "%s: %s lies outside the file", t->path, name);
    a.type = type;
    a.rank = (int)json_array_size(shape);
    for (int i = 0; i < a.rank; i++) {
        a.dim[i] = json_integer_value(json_array_get(shape, (size_t)i));
        if (a.dim[i] < 0 ||
            __builtin_mul_overflow(elements, (size_t)a.dim[i], &elements))
            return err_input(e, "%s: %s has a shape that is not valid", t->path,
                             name);
    }
    a.bytes = (size_t)(end - begin);
    if (elements > room || elements * type_bytes(type) != a.bytes)
        return err_input(e, "%s: the size of %s does not match its shape",
                         t->path, name);
    a.data = t->map + from + begin;
    APPEND(t->array, t->n, t->room) = a;
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct tensors_array *const *x = a, *const *y = b;
    const char *x_end = (const char *)(*x)->data + (*x)->bytes;
    const char *y_end = (const char *)(*y)->data + (*y)->bytes;

    if ((*x)->data != (*y)->data)
        return (*x)->data < (*y)->data ? -1 : 1;
    return x_end < y_end ? -1 : x_end > y_end;
}

/* Check that the arrays use each byte from `from` to the end exactly once. */
static int check_layout(const struct tensors *t, size_t from, struct err *e)
{
    AUTO_FREE const struct tensors_array **order =
        xcalloc((size_t)t->n + 1, sizeof(*order));
    const unsigned char *at = t->map + from;
    int ret = 0;

    for (int i = 0; i < t->n; i++)
        order[i] = &t->array[i];
    qsort(order, (size_t)t->n, sizeof(*order), by_offset);
    for (int i = 0; i < t->n && ret == 0; i++) {
        const unsigned char *data = order[i]->data;

        if (data < at)
            ret = err_input(e, "%s: %s and %s overlap", t->path,
                            order[i - 1]->name, order[i]->name);
        else if (data > at)
            ret = err_input(e, "%s: %zu bytes before %s belong to no tensor",
                            t->path, (size_t)(data - at), order[i]->name);
        at = data + order[i]->bytes;
    }
    if (ret == 0 && at != t->map + t->size)
        ret = err_input(
            e, "%s: %zu bytes after the last tensor belong to no tensor",
            t->path, (size_t)(t->map + t->size - at));
    return ret;
}

static int read_header(struct tensors *t, struct err *e)
{
    json_error_t why;
    uint64_t length = 0;
    const char *name;
    json_t *value;

    for (int i = 7; i >= 0; i--)
        length = length << 8 | t->map[i];
    if (length > t->size - 8)
        return bad_file(t, "not a safetensors file, or truncated", e);
    t->header = json_loadb((char *)t->map + 8, (size_t)length,
                           JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(t->header))
        return bad_file(t, "the header is damaged", e);
    /* clang-format off */
    json_object_foreach(t->header, name, value)
        if (strcmp(name, "__metadata__") != 0 &&
            read_array(t, name, value, 8 + (size_t)length, e) < 0)
            return -1;
    /* clang-format on */
    return check_layout(t, 8 + (size_t)length, e);
}

int tensors_open(struct tensors **out, const char *path, struct err *e)
{
    struct tensors *t = xcalloc(1, sizeof *t);
    const int fd = path_open(path, PATH_FOLLOW_LINKS, e);
    struct stat st;
    void *map;
    int ret = path_map(&map, &st, fd, path, e);

    t->path = xstrdup(path);
    t->map = map;
    t->size = ret == 0 ? (size_t)st.st_size : 0;
    *out = NULL;
    if (ret == 0)
        ret = t->size < 10
                  ? bad_file(t, "not a safetensors file, or truncated", e)
                  : read_header(t, e);
    if (ret == 0)
        *out = t;
    else
        tensors_close(t);
    return ret;
}

void tensors_close(struct tensors *t)
{
    if (!t)
        return;
    if (t->map)
        munmap(t->map, t->size);
    json_decref(t->header);
    FREE(t->array, t->path, t);
}

int tensors_count(const struct tensors *t)
{
    return t->n;
}

const struct tensors_array *tensors_at(const struct tensors *t, int i)
{
    return &t->array[i];
}

const struct tensors_array *tensors_find(const struct tensors *t,
                                         const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->array[i].name, name) == 0)
            return &t->array[i];
    return NULL;
}

bool tensors_all_finite(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

int tensors_array_floats(const struct tensors_array *a, float *out,
                         struct err *e)
{
    const int64_t n = tensors_array_count(a);
    const unsigned char *from = a->data;

    if (strcmp(a->type, "F32") == 0) {
        memcpy(out, a->data, a->bytes);
        return 0;
    }
    if (type_bytes(a->type) != 2 || strcmp(a->type, "I16") == 0)
        return err_input(e, "%s has the type %s; expected F32, BF16 or F16",
                         a->name, a->type);
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;

        memcpy(&half, from + 2 * i, 2);
        out[i] =
            a->type[0] == 'B' ? float_from_bf16(half) : float_from_f16(half);
    }
    return 0;
}
