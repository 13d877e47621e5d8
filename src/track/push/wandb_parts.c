#include "config.h"
#include "track/push/wandb_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "store/format/md5.h"

enum { MIB = 1 << 20, PART = 100 * MIB, MAX_PARTS = 10000, PAGE = 4096 };

static const int64_t parts_from = (int64_t)2048 * MIB;

void wandb_base64(const unsigned char in[16], char out[WANDB_DIGEST])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";
    char *at = out;

    for (int i = 0; i < 16; i += 3) {
        const unsigned int left = 16u - (unsigned int)i;
        const unsigned int bits =
            (unsigned int)in[i] << 16 |
            (left > 1 ? (unsigned int)in[i + 1] << 8 : 0) |
            (left > 2 ? in[i + 2] : 0u);

        *at++ = letters[bits >> 18];
        *at++ = letters[bits >> 12 & 63];
        *at++ = left > 1 ? letters[bits >> 6 & 63] : '=';
        *at++ = left > 2 ? letters[bits & 63] : '=';
    }
    *at = '\0';
}

/* The size of a part; 0 if the file is sent as a whole. */
static int64_t part_size(int64_t size, uint64_t asked)
{
    int64_t part = asked ? (int64_t)asked : PART;

    if (size < (asked ? part + 1 : parts_from))
        return 0;
    if ((size - 1) / part >= MAX_PARTS) {
        part = (size - 1) / MAX_PARTS + 1;
        part = (part + PAGE - 1) / PAGE * PAGE;
    }
    return part;
}

static int64_t part_length(const struct wandb_parts *p, size_t i)
{
    const int64_t left = p->size - (int64_t)i * p->part;

    return left < p->part ? left : p->part;
}

int wandb_parts_map(const struct wandb_file *f, void **data, int64_t *size,
                    struct err *e)
{
    const int fd = path_open_inside(f->path, f->run, e);
    struct stat st = { 0 };
    int ret = 0;

    *data = NULL;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        ret = err_sys(e, "cannot read %s", f->path);
    else if (st.st_size)
        *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (*data == MAP_FAILED)
        ret = err_sys(e, "cannot read %s", f->path);
    *size = (int64_t)st.st_size;
    close(fd);
    return ret;
}

void wandb_parts_unmap(void *data, int64_t size)
{
    if (data)
        munmap(data, (size_t)size);
}

int wandb_parts_open(struct wandb_parts *p, const struct wandb_file *f,
                     uint64_t asked, struct err *e)
{
    void *data;

    *p = (struct wandb_parts){ 0 };
    if (wandb_parts_map(f, &data, &p->size, e) < 0)
        return -1;
    p->part = part_size(p->size, asked);
    p->n = p->part ? (size_t)((p->size - 1) / p->part + 1) : 0;
    p->sum = xcalloc(p->n, sizeof *p->sum);
    for (size_t i = 0; i < p->n; i++)
        md5((const char *)data + (int64_t)i * p->part,
            (size_t)part_length(p, i), p->sum[i]);
    wandb_parts_unmap(data, p->size);
    return 0;
}

void wandb_parts_clear(struct wandb_parts *p)
{
    free(p->sum);
    *p = (struct wandb_parts){ 0 };
}

json_t *wandb_parts_input(const struct wandb_parts *p)
{
    json_t *list = json_array();

    for (size_t i = 0; i < p->n; i++) {
        char hex[33];

        for (int k = 0; k < 16; k++)
            snprintf(hex + 2 * k, 3, "%02x", p->sum[i][k]);
        json_array_append_new(list,
                              json_pack("{s:I, s:s}", "partNumber",
                                        (json_int_t)i + 1, "hexMD5", hex));
    }
    return list;
}

/* The URL of a part; they may come in any order. */
static const char *find_url(json_t *list, size_t number)
{
    json_t *x;
    size_t i;

    json_array_foreach(list, i, x)
    {
        json_t *n = json_object_get(x, "partNumber");

        if (json_integer_value(n) == (json_int_t)number)
            return push_get(x, "uploadUrl");
    }
    return NULL;
}

static int complete_upload(struct wandb *w, const char *artifact, json_t *node,
                           json_t *tags, struct err *e)
{
    static const char query[] =
        "mutation CompleteMultipartUploadArtifact("
        "$completeMultipartAction:CompleteMultipartAction!,"
        "$completedParts:[UploadPartsInput!]!,$artifactID:ID!,"
        "$storagePath:String!,$uploadID:String!){"
        "completeMultipartUploadArtifact(input:{"
        "completeMultipartAction:$completeMultipartAction,"
        "completedParts:$completedParts,artifactID:$artifactID,"
        "storagePath:$storagePath,uploadID:$uploadID}){digest}}";
    json_t *upload = json_object_get(node, "uploadMultipartUrls");

    return wandb_graphql(
        w, "CompleteMultipartUploadArtifact", query,
        json_pack("{s:s, s:O, s:s, s:O, s:O}", "completeMultipartAction",
                  "Complete", "completedParts", tags, "artifactID", artifact,
                  "storagePath", json_object_get(node, "storagePath"),
                  "uploadID", json_object_get(upload, "uploadID")),
        NULL, e);
}

int wandb_parts_send(const struct wandb_parts *p, struct wandb *w,
                     const struct wandb_file *f, const char *artifact,
                     json_t *node, struct err *e)
{
    json_t *upload = json_object_get(node, "uploadMultipartUrls");
    json_t *urls = json_object_get(upload, "uploadUrlParts");
    json_t *headers = json_object_get(node, "uploadHeaders");
    json_t *tags = json_array();
    int ret = 0;

    if (!json_is_string(json_object_get(upload, "uploadID")) ||
        !json_is_string(json_object_get(node, "storagePath")))
        ret =
            err_set(e, ERR_REMOTE,
                    "%s: the server does not say where the parts go", f->name);
    for (size_t i = 0; ret == 0 && i < p->n; i++) {
        const char *url = find_url(urls, i + 1);
        char digest[WANDB_DIGEST], *tag = NULL;
        const struct wandb_part part = { (int64_t)i * p->part,
                                         part_length(p, i), digest };

        wandb_base64(p->sum[i], digest);
        ret = url ? wandb_upload_part(w, f, &part, url, headers, &tag, e)
                  : err_set(e, ERR_REMOTE,
                            "the server does not say where it goes");
        if (ret < 0)
            err_wrap(e, "%s, part %zu of %zu", f->name, i + 1, p->n);
        else
            json_array_append_new(tags,
                                  json_pack("{s:I, s:s}", "partNumber",
                                            (json_int_t)i + 1, "hexMD5", tag));
        free(tag);
    }
    if (ret == 0)
        ret = complete_upload(w, artifact, node, tags, e);
    json_decref(tags);
    return ret;
}
