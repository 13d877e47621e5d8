#pragma once

#include "common/filter/filter_tree.h"

/*
 * filter_impl - what the files of the filter share
 *
 * common/filter has what filters of anything have.  filter_parse.c makes a tree
 * of a text, filter_resolve.c looks its names up, and filter.c evaluates it.
 */
/* ANY: a parameter, a metric or a tag; filter_resolve() finds out which. */
enum entity { METRICS, PARAMS, TAGS, ATTRIBUTES, DATASETS, ANY };

/* MLflow's attributes and our own. */
enum attribute {
    RUN_ID,
    RUN_NAME,
    STATUS,
    REASON,
    USER,
    ARTIFACTS,
    EXPERIMENT,
    EXPERIMENT_ID,
    PARENT,
    FOLDER,
    DELETED,
    HOST,
    DAMAGE,
    CHANGED,
    START, /* this and those below are numbers */
    END,
    DURATION,
    STEPS,
    IDLE, /* seconds since the last point, while it has not ended */
    ATTEMPTS,
};

enum aspect { LAST, MIN, MAX, MEAN, COUNT, ARGMIN, ARGMAX, FIRST, AT };

struct filter {
    struct arena mem;
    struct node *root; /* NULL matches every run */
};
