#include "config.h"
#include "common/stats/student.h"

#include <math.h>

/* The probability of values from -t to t. */
static double inner_probability(double t, size_t freedom)
{
    const double angle = atan(t / sqrt((double)freedom));
    const double c2 = cos(angle) * cos(angle);
    const size_t odd = freedom % 2;
    double term = odd ? cos(angle) : 1, sum = 0;

    for (size_t k = 1; 2 * k <= freedom; k++) {
        const double top = (double)(2 * k - !odd), bottom = top + 1;

        sum += term;
        term *= c2 * top / bottom;
    }
    return odd ? M_2_PI * (angle + (freedom > 1 ? sin(angle) * sum : 0))
               : sin(angle) * sum;
}

double student_quantile(double p, size_t freedom)
{
    const size_t most = 10000; /* normal, to five digits, beyond that */
    const size_t f = freedom < most ? freedom : most;
    double low = 0, high = 1;

    while (inner_probability(high, f) < 2 * p - 1 && high < 1e12)
        high *= 2;
    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;

        if (inner_probability(middle, f) < 2 * p - 1)
            low = middle;
        else
            high = middle;
    }
    return high;
}
