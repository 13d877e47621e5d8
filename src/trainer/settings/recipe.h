#pragma once

#include "trainer/settings/settings.h"

/*
 * recipe - settings that follow from one number, the depth of the model
 *
 *      recipe_apply(&settings);
 *
 * With [recipe] name, every setting of the recipe that neither the settings
 * file nor --set gives gets its value; those that follow from others follow
 * from what these are then, given or not.  A batch or a length that is given in
 * another way takes the place of the recipe's.
 */
struct recipe_row {
    const char *key;
    const char *value; /* NULL: computed */
    double (*compute)(const struct settings *);
    const char *formula, *source;
};

void recipe_apply(struct settings *);

/* The settings of the recipe, which end with a NULL; NULL without a recipe. */
const struct recipe_row *recipe_rows(const struct settings *);

/* Did the recipe choose the value? */
bool recipe_chose(const struct settings *, const struct recipe_row *);
