/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient boosting by XGBoost, the only place that calls it: numbers in, trees out. What it writes
 * of itself is read here, right after it wrote it; nothing of it is ever read from a file.
 */
#ifndef DAEMON_PREDICT_LEARN_BOOST_H
#define DAEMON_PREDICT_LEARN_BOOST_H

#include "daemon/predict/learn/forest.h"
#include "daemon/predict/onnx/complaint.h"

/* An empty forest becomes what approximates y; `check`, where not NULL, gets what XGBoost itself
 * predicts for each row. 0; or -EINVAL, -ENOMEM and why. */
int boost_train(struct forest *f, const struct columns *x, const double *y, uint32_t rows,
                float *check, struct complaint *why);

#endif
