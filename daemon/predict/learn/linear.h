/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear regression with a small ridge, for comparison with Horus's Table 4. Columns are centred
 * and scaled first. Pure.
 */
#ifndef DAEMON_PREDICT_LEARN_LINEAR_H
#define DAEMON_PREDICT_LEARN_LINEAR_H

#include "daemon/predict/learn/columns.h"

struct linear {
    double intercept, weights[COLUMNS], means[COLUMNS], scales[COLUMNS];
};

/* Returns 0, or -EINVAL if there are no rows. */
int linear_fit(struct linear *l, const struct columns *x, const double *y, uint32_t rows);
double linear_predict(const struct linear *l, const struct columns *c);

#endif
