/* SPDX-License-Identifier: Apache-2.0
 *
 * Features as the input columns of a regressor: Table 3 in its order, each as log(1 + x), because
 * ratios of bytes, operations and counts matter. Pure.
 */
#ifndef DAEMON_PREDICT_LEARN_COLUMNS_H
#define DAEMON_PREDICT_LEARN_COLUMNS_H

#include "daemon/predict/features/features.h"

#define COLUMNS_FIRST 4 /* FLOPs, parameters, batch, activations; the counts follow */
#define COLUMNS (COLUMNS_FIRST + FEATURES_COUNTS)

struct columns {
    float x[COLUMNS];
};

void columns_of(struct columns *c, const struct features *f);
/* The column's name in a table of measurements: "flops", "parameters_bytes", ..., "conv". */
const char *columns_name(unsigned i);
/* A feature's value in such a table; columns_set is the inverse. */
double columns_value(const struct features *f, unsigned i);
void columns_set(struct features *f, unsigned i, double value);

#endif
