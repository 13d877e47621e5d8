#include "config.h"
#include "trainer/model/anomaly.h"

#include <math.h>

int anomaly_look(void *arg, const struct observed *o, struct err *e)
{
    (void)arg;
    if (o->type == DT_I32)
        return 0;
    for (int64_t i = 0; i < o->n; i++) {
        const double x = observed_number(o, i);

        if (!isfinite(x))
            return err_set(
                e, ERR_NONFINITE,
                "the %s of %s is %f at element %lld, computed by %s (%s)",
                o->gradient ? "gradient" : "value", o->tensor, x, (long long)i,
                o->operation, o->at);
    }
    return 0;
}
