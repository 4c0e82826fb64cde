/* SPDX-License-Identifier: Apache-2.0
 *
 * Features as a regressor sees them: Table 3 in its order, each as log(1 + x), since what matters
 * of bytes, operations and counts is how many times more there are. Pure.
 */
#ifndef DAEMON_PREDICT_LEARN_COLUMNS_H
#define DAEMON_PREDICT_LEARN_COLUMNS_H

#include "daemon/predict/features/features.h"

#define COLUMNS_FIRST 4 /* FLOPs, parameters, batch, activations; then the counts */
#define COLUMNS (COLUMNS_FIRST + FEATURES_COUNTS)

struct columns {
    float x[COLUMNS];
};

void columns_of(struct columns *c, const struct features *f);
/* As a table of measurements has it: "flops", "parameters_bytes", ..., "conv". */
const char *columns_name(unsigned i);
/* The features as such a table has them; column_set is its inverse. */
double columns_value(const struct features *f, unsigned i);
void columns_set(struct features *f, unsigned i, double value);

#endif
