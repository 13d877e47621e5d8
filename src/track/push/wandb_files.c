/*
 * wandb_files - the files of a run, to W&B
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/random.h"
#include "store/format/store.h"
#include "track/push/wandb_push.h"
#include "track/runs/file_tree.h"

/* ---- files as an artifact of W&B ----------------------------------------- */

enum { DIGEST = 25, ID = 128 };

/* The largest file that the storage of W&B accepts in one request. */
static const int64_t size_most = (int64_t)5 << 30;

/* The MD5 sum of a text in base64. */
static void digest(const void *text, size_t n, char out[DIGEST])
{
    unsigned char sum[16];
    AUTO(buf_clear) struct buf b = BUF_INIT;

    md5(text, n, sum);
    buf_base64(&b, sum, sizeof sum);
    memcpy(out, b.s, DIGEST);
}

static void random_id(char out[ID + 1])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char bytes[ID];

    random_bytes(bytes, sizeof bytes);
    for (int i = 0; i < ID; i++)
        out[i] = letters[bytes[i] % 36];
    out[ID] = '\0';
}

struct artifact {
    struct wandb *w;
    const char *name, *type;
    struct wandb_file *file;
    struct content {
        char digest[DIGEST];
        int64_t size;
    } * content; /* of each file */
    size_t n;
    char *id, *base, *manifest; /* ids at the server */
};

static int read_file(struct content *c, const struct wandb_file *f,
                     struct err *e)
{
    char size[NUM_TEXT];
    void *data;

    if (wandb_map(f, &data, &c->size, e) < 0)
        return -1;
    if (c->size <= size_most)
        digest(data ? data : "", (size_t)c->size, c->digest);
    wandb_unmap(data, c->size);
    return c->size <= size_most
               ? 0
               : err_input(e,
                           "%s has %s, but W&B accepts at most 5 GiB; push "
                           "without --checkpoints",
                           f->path, num_bytes(size, (double)c->size));
}

/* Create the artifact; *done says whether the server has this version. */
static int create_artifact(struct artifact *a, bool *done, struct err *e)
{
    static const char query[] =
        "mutation CreateArtifact($input:CreateArtifactInput!){createArtifact("
        "input:$input){artifact{id state artifactSequence{latestArtifact{id}}"
        "}}}";
    AUTO(buf_clear) struct buf all = BUF_INIT;
    char sum[33], client[ID + 1], sequence[ID + 1];
    json_t *data, *artifact, *latest;
    int ret;

    buf_str(&all, "wandb-artifact-manifest-v1\n");
    for (size_t i = 0; i < a->n; i++)
        buf_printf(&all, "%s:%s\n", a->file[i].name, a->content[i].digest);
    md5_hex(all.s, all.len, sum);
    random_id(client);
    random_id(sequence);
    ret = wandb_graphql(
        a->w, "CreateArtifact", query,
        json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:s}], "
                  "s:s, s:s, s:b}}",
                  "input", "entityName", a->w->entity, "projectName",
                  a->w->project, "runName", a->w->run, "artifactTypeName",
                  a->type, "artifactCollectionName", a->name, "digest", sum,
                  "digestAlgorithm", "MANIFEST_MD5", "aliases",
                  "artifactCollectionName", a->name, "alias", "latest",
                  "clientID", client, "sequenceClientID", sequence,
                  "enableDigestDeduplication", 1),
        &data, e);
    if (ret < 0)
        return -1;
    artifact =
        json_object_get(json_object_get(data, "createArtifact"), "artifact");
    latest = json_object_get(json_object_get(artifact, "artifactSequence"),
                             "latestArtifact");
    xreplace(&a->id, push_get(artifact, "id"));
    xreplace(&a->base, push_get(latest, "id"));
    if (!a->id)
        ret = err_set(e, ERR_REMOTE, "the server did not create the artifact");
    *done = push_is(artifact, "state", "COMMITTED");
    json_decref(data);
    return ret;
}

/* Create the manifest; if text is not NULL, update its digest and send it. */
static int send_manifest(struct artifact *a, const char *text, struct err *e)
{
    static const char query[] =
        "mutation CreateArtifactManifest($artifactID:ID!,$baseArtifactID:ID,"
        "$name:String!,$digest:String!,$entityName:String!,"
        "$projectName:String!,$runName:String!,"
        "$manifestType:ArtifactManifestType,$includeUpload:Boolean!){"
        "createArtifactManifest(input:{artifactID:$artifactID,"
        "baseArtifactID:$baseArtifactID,name:$name,digest:$digest,"
        "entityName:$entityName,projectName:$projectName,runName:$runName,"
        "type:$manifestType}){artifactManifest{id file{id "
        "uploadUrl@include(if:$includeUpload) "
        "uploadHeaders@include(if:$includeUpload)}}}}";
    char sum[DIGEST] = "";
    json_t *data, *manifest, *file;
    int ret;

    if (text)
        digest(text, strlen(text), sum);
    ret = wandb_graphql(
        a->w, "CreateArtifactManifest", query,
        json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s, s:s, s:s, s:b}",
                  "artifactID", a->id, "baseArtifactID", a->base, "name",
                  "wandb_manifest.json", "digest", sum, "entityName",
                  a->w->entity, "projectName", a->w->project, "runName",
                  a->w->run, "manifestType", "FULL", "includeUpload",
                  text != NULL),
        &data, e);
    if (ret < 0)
        return -1;
    manifest = json_object_get(json_object_get(data, "createArtifactManifest"),
                               "artifactManifest");
    file = json_object_get(manifest, "file");
    if (push_get(manifest, "id") && !a->manifest)
        a->manifest = xstrdup(push_get(manifest, "id"));
    if (!a->manifest)
        ret = err_set(e, ERR_REMOTE, "the server did not create the manifest");
    else if (text && push_get(file, "uploadUrl"))
        ret = wandb_upload(
            a->w,
            &(struct wandb_file){ .name = "wandb_manifest.json", .text = text },
            push_get(file, "uploadUrl"), json_object_get(file, "uploadHeaders"),
            e);
    json_decref(data);
    return ret;
}

static int send_files(struct artifact *a, struct err *e)
{
    static const char query[] =
        "mutation CreateArtifactFiles($input:CreateArtifactFilesInput!){"
        "createArtifactFiles(input:$input){files{edges{node{storagePath "
        "uploadUrl uploadHeaders}}}}}";
    json_t *list = json_array(), *data, *edges;
    int ret;

    for (size_t i = 0; i < a->n; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s}", "artifactID", a->id,
                            "artifactManifestID", a->manifest, "name",
                            a->file[i].name, "md5", a->content[i].digest));
    ret = wandb_graphql(a->w, "CreateArtifactFiles", query,
                        json_pack("{s:{s:o, s:s}}", "input", "artifactFiles",
                                  list, "storageLayout", "V2"),
                        &data, e);
    if (ret < 0)
        return -1;
    edges = json_object_get(
        json_object_get(json_object_get(data, "createArtifactFiles"), "files"),
        "edges");
    if (json_array_size(edges) != a->n)
        ret = err_set(e, ERR_REMOTE, "the server accepts %zu of %zu files",
                      json_array_size(edges), a->n);
    for (size_t i = 0; ret == 0 && i < a->n; i++) {
        json_t *node = json_object_get(json_array_get(edges, i), "node");

        if (push_get(node, "uploadUrl")) /* else it has this content */
            ret = wandb_upload(a->w, &a->file[i], push_get(node, "uploadUrl"),
                               json_object_get(node, "uploadHeaders"), e);
    }
    json_decref(data);
    return ret;
}

static char *manifest_text(const struct artifact *a)
{
    json_t *contents = json_object();
    json_auto_t *o = NULL;

    for (size_t i = 0; i < a->n; i++)
        json_object_set_new(
            contents, a->file[i].name,
            json_pack("{s:s, s:I, s:s, s:b}", "digest", a->content[i].digest,
                      "size", (json_int_t)a->content[i].size, "birthArtifactID",
                      a->id, "skip_cache", 0));
    o = json_pack("{s:i, s:s, s:{s:s}, s:o}", "version", 1, "storagePolicy",
                  "wandb-storage-policy-v1", "storagePolicyConfig",
                  "storageLayout", "V2", "contents", contents);
    return json_dumps(o, JSON_SORT_KEYS);
}

static int commit_artifact(struct artifact *a, struct err *e)
{
    static const char query[] =
        "mutation CommitArtifact($artifactID:ID!){commitArtifact(input:{"
        "artifactID:$artifactID}){artifact{id digest}}}";

    return wandb_graphql(a->w, "CommitArtifact", query,
                         json_pack("{s:s}", "artifactID", a->id), NULL, e);
}

/* Send files, which have paths and are sorted by name, as an artifact: a list
 * of files with digests, its manifest, under a name that has versions.  If the
 * server has a version with the same digest, nothing is sent. */
static int send_artifact(struct wandb *w, const char *type, const char *name,
                         struct wandb_file *f, size_t n, struct err *e)
{
    struct artifact a = {
        .w = w, .name = name, .type = type, .file = f, .n = n
    };
    char *text = NULL;
    bool done = false;
    int ret = 0;

    a.content = xcalloc(n, sizeof *a.content);
    for (size_t i = 0; ret == 0 && i < n; i++)
        ret = read_file(&a.content[i], &f[i], e);
    if (ret == 0)
        ret = create_artifact(&a, &done, e);
    if (ret == 0 && !done) {
        text = manifest_text(&a);
        if (send_manifest(&a, NULL, e) < 0 || send_files(&a, e) < 0 ||
            send_manifest(&a, text, e) < 0 || commit_artifact(&a, e) < 0)
            ret = -1;
    }
    if (ret < 0)
        err_wrap(e, "artifact %s", name);
    FREE(text, a.content, a.id, a.base, a.manifest);
    return ret;
}

/* ---- the files of a run -------------------------------------------------- */

/* The files to send, and their MD5 sums. */
struct outgoing {
    struct arena mem;
    struct wandb_file *file;
    size_t n, room;
    size_t unreadable; /* files, each of which was reported */
};

static void outgoing_clear(struct outgoing *out)
{
    arena_clear(&out->mem);
    free(out->file);
}

/* Add a file, unless the cursor has its sum; either path or text is NULL. */
static void add_file(struct outgoing *out, const struct wandb_push *p,
                     const char *name, const char *path, const char *text)
{
    enum { MAX_FILE = 1 << 30 };
    const char *inside = run_info_inside(p->run);
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct err none = { 0 };
    char hash[33];

    if (path && buf_read_open(&b, path_open_inside(path, inside, &none), path,
                              MAX_FILE, &none) < 0) {
        log_warn("%s", none.text);
        out->unreadable++;
        return;
    }
    md5_hex(path ? b.s : text, path ? b.len : strlen(text), hash);
    p->totals->bytes += (int64_t)b.len;
    if (push_is(json_object_get(p->cursor, "files"), name, hash))
        return;
    APPEND(out->file, out->n, out->room) = (struct wandb_file){
        .name = arena_strdup(&out->mem, name),
        .path = path ? arena_strdup(&out->mem, path) : NULL,
        .text = text ? arena_strdup(&out->mem, text) : NULL,
        .inside = inside,
        .md5 = arena_strdup(&out->mem, hash),
    };
}

/* Media have a hash in their name: one that was sent is not read again, and
 * equal ones of a list are one file. */
static void add_media(struct outgoing *out, const struct wandb_push *p)
{
    json_t *sent = json_object_get(p->cursor, "files");
    json_auto_t *listed = json_object();

    for (size_t i = 0; i < p->media.n_files; i++) {
        const struct wandb_media_file *f = &p->media.file[i];
        AUTO_FREE char *path = NULL;

        if (!f->name || json_object_get(sent, f->name) ||
            json_object_get(listed, f->name))
            continue;
        json_object_set_new(listed, f->name, json_true());
        path = path_join(p->run->artifacts, f->path);
        add_file(out, p, f->name, path, NULL);
    }
}

static void add_artifacts(struct outgoing *out, const struct wandb_push *p)
{
    const char *inside = run_info_inside(p->run);
    struct err why = { 0 };
    AUTO(file_tree_clear) struct file_tree f = { 0 };

    if (p->conf->no_files)
        return;
    if (file_tree_list(&f, p->run->artifacts, inside, &why) < 0) {
        log_warn("%s", why.text);
        out->unreadable++;
        return;
    }
    for (size_t i = 0; i < f.n; i++) {
        const struct file_tree_file *x = &f.file[i];

        if (!x->outside && !wandb_media_find(&p->media, x->path) &&
            !push_is_checkpoint(x->path, x->size))
            add_file(out, p, x->path, x->whole, NULL);
    }
}

static void add_facts(struct outgoing *out, const struct wandb_push *p)
{
    json_auto_t *config = wandb_config(p->run);
    /* JSON is a subset of YAML */
    AUTO_FREE char *yaml =
        json_dumps(config, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    AUTO_FREE char *metadata = wandb_metadata(p->run);
    AUTO(buf_clear) struct buf summary = BUF_INIT;

    wandb_rows_summary(&summary, p->run, &p->rows[WANDB_HISTORY], &p->media);
    add_file(out, p, "wandb-metadata.json", NULL, metadata);
    add_file(out, p, "config.yaml", NULL, yaml);
    add_file(out, p, "wandb-summary.json", NULL, summary.s);
}

/* Media are sent with the lines that name them, and the rest at the end. */
static void list_new_files(struct outgoing *out, const struct wandb_push *p)
{
    add_media(out, p);
    if (p->run->status == RUN_RUNNING)
        return;
    add_facts(out, p);
    add_artifacts(out, p);
}

static int send_checkpoints(struct wandb_push *p, struct err *e)
{
    AUTO(outgoing_clear) struct outgoing out = { 0 };
    AUTO(buf_clear) struct buf state = BUF_INIT;
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret = 0;

    if (file_tree_list(&f, p->run->artifacts, run_info_inside(p->run), e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++) {
        const struct file_tree_file *x = &f.file[i];

        if (x->outside || !push_is_checkpoint(x->path, x->size))
            continue;
        APPEND(out.file, out.n, out.room) = (struct wandb_file){
            .name = x->path,
            .path = x->whole,
            .inside = run_info_inside(p->run),
        };
        buf_printf(&state, "%s %" PRId64 " %" PRId64 "\n", x->path, x->size,
                   x->mtime_ms);
    }
    if (out.n && !push_is(p->cursor, "checkpoints", state.s)) {
        AUTO_FREE char *name = xasprintf("run-%s-checkpoints", p->w.run);

        ret = send_artifact(&p->w, "model", name, out.file, out.n, e);
        if (ret == 0) {
            json_object_set_new(p->cursor, "checkpoints", json_string(state.s));
            p->totals->files += (int64_t)out.n;
        }
    }
    return ret;
}

int wandb_files_send(struct wandb_push *p, struct err *e)
{
    AUTO(outgoing_clear) struct outgoing out = { 0 };
    json_t *files = push_cursor_object(p->cursor, "files");
    int ret = 0;

    list_new_files(&out, p);
    if (out.n)
        ret = wandb_upload_files(&p->w, out.file, out.n, e);
    for (size_t i = 0; i < out.n; i++) {
        if (!out.file[i].sent)
            continue;
        json_object_set_new(files, out.file[i].name,
                            json_string(out.file[i].md5));
        json_array_append_new(p->uploaded, push_text(out.file[i].name));
        p->totals->files++;
    }
    if (ret == 0 && out.unreadable)
        ret = err_set(e, ERR_SYSTEM, "%zu of the artifacts cannot be read",
                      out.unreadable);
    return ret == 0 && p->conf->checkpoints && p->run->status != RUN_RUNNING
               ? send_checkpoints(p, e)
               : ret;
}

size_t wandb_files_count(struct wandb_push *p)
{
    AUTO(outgoing_clear) struct outgoing out = { 0 };

    list_new_files(&out, p);
    return out.n;
}
