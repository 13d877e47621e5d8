#pragma once

#include "common/err.h"
#include "store/read/runs.h"

/*
 * filter - does a run match "metrics.loss < 3 and params.lr = '1e-3'"?
 *
 *      struct filter *f = filter_parse(text, e);
 *
 *      if (!f || filter_resolve(f, &runs, e) < 0)
 *          ...
 *      if (filter_match(f, &runs.run[i], e) > 0) ...
 *      filter_free(f);
 *
 * The grammar is that of filter_tree.h, in which
 *
 *      clause := ... | "stalled" "(" time ")"
 *      what   := [entity "."] key | fn "(" metric ")"
 *              | "at" "(" metric "," step ")"
 *
 * The grammar extends that of MLflow's search; a filter has the same meaning in
 * both, and gtrack(1), FILTERS, describes it.  Entities are metrics, params,
 * tags, datasets and attributes, and MLflow's other spellings of these; a key
 * without one is an attribute, or else what find_key() takes it for.  Words are
 * not case-sensitive; entities and keys are.
 */
struct filter;

/* NULL, with e an ERR_USAGE that quotes the place, if it is not a filter. */
struct filter *filter_parse(const char *text, struct err *e);
/* Look up the names: a metric, a parameter or an experiment that none of the
 * runs has is ERR_MISSING, unless it is compared with null, or there is no run
 * at all. */
int filter_resolve(struct filter *, const struct runs *, struct err *);
/* 1 or 0; -1 if a metric of the run cannot be read. */
int filter_match(const struct filter *, const struct run_info *, struct err *);
void filter_free(struct filter *);
