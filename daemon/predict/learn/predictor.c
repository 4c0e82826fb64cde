/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/learn/predictor.h"

#include <math.h>

void predictor_finish(struct predictor *p) {
    forest_finish(&p->forest);
}

/* RMSLE uses log(1 + x) with x in percent, as Horus measures utilisation. */
double predictor_logarithm(double part) {
    return log1p(100 * part);
}

double predictor_part(double logarithm) {
    double percent = logarithm < 50 ? expm1(logarithm) : 100;

    if (!(percent > 0)) return 0;
    return percent < 100 ? percent / 100 : 1;
}

double predictor_utilisation(const struct predictor *p, const struct columns *c) {
    return predictor_part(forest_predict(&p->forest, c));
}

uint32_t predictor_outside(const struct predictor *p, const struct columns *c, unsigned *first) {
    uint32_t count = 0;

    for (unsigned i = COLUMNS; i-- > 0;)
        if (c->x[i] < p->least[i] || c->x[i] > p->most[i]) {
            *first = i;
            count++;
        }
    return count;
}
