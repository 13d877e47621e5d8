#include "config.h"
#include "track/push/wandb_artifact.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/mem.h"
#include "store/format/md5.h"
#include "track/push/wandb_parts.h"

enum { DIGEST = WANDB_DIGEST, ID = 128 };

static void random_id(char out[ID + 1])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char bytes[ID] = { 0 };

    if (getrandom(bytes, sizeof bytes, 0) < 0)
        bytes[0] = (unsigned char)getpid();
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
        struct wandb_parts parts;
    } * content; /* of each file */
    size_t n;
    char *id, *base, *manifest; /* ids at the server */
};

static int digest_file(struct content *c, const struct wandb_file *f,
                       struct err *e)
{
    unsigned char sum[16];
    void *data;

    if (wandb_parts_map(f, &data, &c->size, e) < 0)
        return -1;
    md5(data ? data : "", (size_t)c->size, sum);
    wandb_base64(sum, c->digest);
    wandb_parts_unmap(data, c->size);
    return 0;
}

/* Create the artifact; *done says whether the server has this version. */
static int create_artifact(struct artifact *a, bool *done, struct err *e)
{
    static const char query[] =
        "mutation CreateArtifact($input:CreateArtifactInput!){createArtifact("
        "input:$input){artifact{id state artifactSequence{latestArtifact{id}}"
        "}}}";
    struct buf all = BUF_INIT;
    char sum[33], client[ID + 1], sequence[ID + 1];
    json_t *data, *artifact, *latest;
    int ret;

    buf_str(&all, "wandb-artifact-manifest-v1\n");
    for (size_t i = 0; i < a->n; i++)
        buf_printf(&all, "%s:%s\n", a->file[i].name, a->content[i].digest);
    md5_hex(all.s, all.len, sum);
    buf_clear(&all);
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
    char digest[DIGEST] = "";
    unsigned char sum[16];
    json_t *data, *manifest, *file;
    int ret;

    if (text) {
        md5(text, strlen(text), sum);
        wandb_base64(sum, digest);
    }
    ret = wandb_graphql(
        a->w, "CreateArtifactManifest", query,
        json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s, s:s, s:s, s:b}",
                  "artifactID", a->id, "baseArtifactID", a->base, "name",
                  "wandb_manifest.json", "digest", digest, "entityName",
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
        "uploadUrl uploadHeaders uploadMultipartUrls{uploadID uploadUrlParts{"
        "partNumber uploadUrl}}}}}}}";
    json_t *list = json_array(), *data, *edges;
    int ret;

    for (size_t i = 0; i < a->n; i++) {
        json_t *file = json_pack("{s:s, s:s, s:s, s:s}", "artifactID", a->id,
                                 "artifactManifestID", a->manifest, "name",
                                 a->file[i].name, "md5", a->content[i].digest);

        if (a->content[i].parts.n)
            json_object_set_new(file, "uploadPartsInput",
                                wandb_parts_input(&a->content[i].parts));
        json_array_append_new(list, file);
    }
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

        if (json_is_object(json_object_get(node, "uploadMultipartUrls")))
            ret = wandb_parts_send(&a->content[i].parts, a->w, &a->file[i],
                                   a->id, node, e);
        else if (push_get(node, "uploadUrl")) /* else it has this content */
            ret = wandb_upload(a->w, &a->file[i], push_get(node, "uploadUrl"),
                               json_object_get(node, "uploadHeaders"), e);
    }
    json_decref(data);
    return ret;
}

static char *manifest_text(const struct artifact *a)
{
    json_t *contents = json_object(), *o;
    char *text;

    for (size_t i = 0; i < a->n; i++)
        json_object_set_new(
            contents, a->file[i].name,
            json_pack("{s:s, s:I, s:s, s:b}", "digest", a->content[i].digest,
                      "size", (json_int_t)a->content[i].size, "birthArtifactID",
                      a->id, "skip_cache", 0));
    o = json_pack("{s:i, s:s, s:{s:s}, s:o}", "version", 1, "storagePolicy",
                  "wandb-storage-policy-v1", "storagePolicyConfig",
                  "storageLayout", "V2", "contents", contents);
    text = json_dumps(o, JSON_SORT_KEYS);
    json_decref(o);
    return text;
}

static int commit_artifact(struct artifact *a, struct err *e)
{
    static const char query[] =
        "mutation CommitArtifact($artifactID:ID!){commitArtifact(input:{"
        "artifactID:$artifactID}){artifact{id digest}}}";

    return wandb_graphql(a->w, "CommitArtifact", query,
                         json_pack("{s:s}", "artifactID", a->id), NULL, e);
}

int wandb_artifact(struct wandb *w, const char *type, const char *name,
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
        ret = digest_file(&a.content[i], &f[i], e);
    if (ret == 0)
        ret = create_artifact(&a, &done, e);
    for (size_t i = 0; ret == 0 && !done && i < n; i++)
        ret = wandb_parts_open(&a.content[i].parts, &f[i], w->part, e);
    if (ret == 0 && !done) {
        text = manifest_text(&a);
        if (send_manifest(&a, NULL, e) < 0 || send_files(&a, e) < 0 ||
            send_manifest(&a, text, e) < 0 || commit_artifact(&a, e) < 0)
            ret = -1;
    }
    if (ret < 0)
        err_wrap(e, "artifact %s", name);
    free(text);
    for (size_t i = 0; i < n; i++)
        wandb_parts_clear(&a.content[i].parts);
    free(a.content);
    free(a.id);
    free(a.base);
    free(a.manifest);
    return ret;
}
