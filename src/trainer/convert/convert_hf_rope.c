/*
 * convert_hf_rope - the rotary angles in config.json of a Hugging Face model
 */
#include "config.h"
#include "trainer/convert/convert_hf_config.h"

#include <string.h>

#include "common/num.h"
#include "trainer/model/rope_scaling.h"

/* What transformers calls the numbers of model.rope_scaling. */
static const struct scaling_keys {
    const char *kind, *low, *high;
    double low_otherwise, high_otherwise; /* 0: they must be there */
} scaling_keys[] = {
    { "llama3", "low_freq_factor", "high_freq_factor", 0, 0 },
    { "yarn", "beta_slow", "beta_fast", 1, 32 },
};

static const struct scaling_keys *find_scaling(const char *kind)
{
    for (size_t i = 0; kind && i < sizeof scaling_keys / sizeof *scaling_keys;
         i++)
        if (strcmp(scaling_keys[i].kind, kind) == 0)
            return &scaling_keys[i];
    return NULL;
}

/* Into rope_parameters, and into rope_scaling for transformers 4. */
static void describe_scaling(json_t *o, const struct settings *s)
{
    json_t *both = json_object_get(o, "rope_parameters");
    const struct scaling_keys *k;
    struct rope_scaling r;

    k = rope_scaling_parse(s->model.rope_scaling, &r) ? find_scaling(r.kind)
                                                      : NULL;
    if (!k)
        return;
    json_object_set_new(both, "rope_type", json_string(r.kind));
    json_object_set_new(both, "factor", json_real(r.factor));
    json_object_set_new(both, k->low, json_real(r.low));
    json_object_set_new(both, k->high, json_real(r.high));
    json_object_set_new(both, "original_max_position_embeddings",
                        json_integer((json_int_t)r.context));
    json_object_set_new(o, "rope_scaling", json_deep_copy(both));
}

static void describe_nope(json_t *o, const struct model_settings *m)
{
    json_t *layers;

    if (!m->nope_every)
        return;
    layers = json_array();
    for (int l = 1; l <= m->layers; l++)
        json_array_append_new(layers, json_integer(l % m->nope_every != 0));
    json_object_set_new(o, "no_rope_layers", layers);
    json_object_set_new(o, "no_rope_layer_interval",
                        json_integer(m->nope_every));
}

/* rope_theta is written twice, for transformers 4 and for transformers 5. */
void hf_rope_describe(json_t *o, const struct settings *s)
{
    json_object_set_new(o, "rope_parameters",
                        json_pack("{s:s, s:f}", "rope_type", "default",
                                  "rope_theta", s->model.rope_theta));
    describe_scaling(o, s);
    describe_nope(o, &s->model);
}

/* They are the same in all layers, and turn all elements of a head. */
static int check_angles(const json_t *rope, struct err *e)
{
    static const char partial[] = "partial_rotary_factor";
    static const char layers[] = "full_attention";

    if (hf_config_has(rope, partial) &&
        json_number_value(json_object_get(rope, partial)) != 1)
        return hf_config_reject(e, rope, partial, "gtrain rotates whole heads");
    if (hf_config_has(rope, layers))
        return hf_config_reject(e, rope, layers,
                                "gtrain has the same angles in all layers");
    return 0;
}

static int find_number(const json_t *o, const char *key, double otherwise,
                       char text[NUM_TEXT], struct err *e)
{
    const json_t *value = json_object_get(o, key);
    const double x =
        hf_config_has(o, key) ? json_number_value(value) : otherwise;

    num_shortest(text, x);
    return x > 0 ? 0
                 : err_set(e, ERR_INPUT,
                           "config.json: the scaling of rotary angles needs a "
                           "number %s",
                           key);
}

static int add_scaling(const json_t *o, const json_t *r,
                       const struct scaling_keys *k, struct buf *out,
                       struct err *e)
{
    static const char *const others[] = { "attention_factor", "mscale",
                                          "mscale_all_dim", "truncate" };
    const double context =
        json_number_value(json_object_get(o, "max_position_embeddings"));
    char factor[NUM_TEXT], low[NUM_TEXT], high[NUM_TEXT], before[NUM_TEXT];

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (hf_config_has(r, others[i]))
            return hf_config_reject(e, r, others[i],
                                    "gtrain scales rotary angles without it");
    if (find_number(r, "factor", 0, factor, e) < 0 ||
        find_number(r, k->low, k->low_otherwise, low, e) < 0 ||
        find_number(r, k->high, k->high_otherwise, high, e) < 0 ||
        find_number(r, "original_max_position_embeddings",
                    k->low_otherwise > 0 ? context : 0, before, e) < 0)
        return -1;
    buf_printf(out,
               "model.rope_scaling=%s, factor=%s, low=%s, high=%s, "
               "context=%s\n",
               k->kind, factor, low, high, before);
    return 0;
}

/* The layers without rotary angles: every n-th.  The file has n, which may be
 * more than it has layers, or a list with 0 for each such layer. */
static int add_nope(const json_t *o, json_int_t every, struct buf *out,
                    struct err *e)
{
    static const char interval[] = "no_rope_layer_interval";
    static const char list[] = "no_rope_layers";
    const json_t *layers = json_object_get(o, list), *has;
    size_t i;

    if (hf_config_has(o, interval))
        every = json_integer_value(json_object_get(o, interval));
    if (json_is_array(layers)) {
        for (i = 0; i < json_array_size(layers); i++)
            if (json_integer_value(json_array_get(layers, i)) == 0)
                break;
        every = i < json_array_size(layers) ? (json_int_t)i + 1 : 0;
    }
    json_array_foreach(layers, i, has)
    {
        const bool without = every && ((json_int_t)i + 1) % every == 0;

        if (json_integer_value(has) != !without)
            return hf_config_reject(
                e, o, list, "gtrain leaves out the angles of every n-th layer");
    }
    if (every < 0 || (every && every <= json_integer_value(json_object_get(
                                            o, "num_hidden_layers"))))
        buf_printf(out, "model.nope_every=%lld\n", (long long)every);
    return 0;
}

/* The angles: transformers 4 has rope_theta and rope_scaling, 5 has both in
 * rope_parameters, unless there is rope_scaling, too. */
int hf_rope_read(const json_t *o, int nope, struct buf *out, struct err *e)
{
    static const char *const keys[] = { "rope_parameters", "rope_scaling" };
    static const struct hf_key theta = { "rope_theta", "model.rope_theta",
                                         "10000" };
    const json_t *from = o, *scaled = NULL;
    const struct scaling_keys *how = NULL;

    for (int i = 0; i < 2; i++) {
        const json_t *r = json_object_get(o, keys[i]);
        const char *key = hf_config_has(r, "rope_type") ? "rope_type"
                          : hf_config_has(r, "type")    ? "type"
                                                        : "factor";
        const char *type = json_string_value(json_object_get(r, key));
        const struct scaling_keys *k = find_scaling(type);

        if (!hf_config_has(o, keys[i]))
            continue;
        if (hf_config_has(r, key) && !k &&
            (!type || strcmp(type, "default") != 0))
            return hf_config_reject(
                e, r, key, "gtrain scales rotary angles as llama3 and yarn do");
        how = k;
        scaled = r;
        if (hf_config_has(r, "rope_theta"))
            from = r;
        if (check_angles(r, e) < 0)
            return -1;
    }
    if (check_angles(o, e) < 0 ||
        (how && add_scaling(o, scaled, how, out, e) < 0) ||
        add_nope(o, nope, out, e) < 0)
        return -1;
    return hf_config_read(from, &theta, out, e);
}
