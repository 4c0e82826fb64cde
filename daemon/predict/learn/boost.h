/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient boosting with XGBoost; only this file calls it. Input is numbers, output is trees. The
 * JSON that XGBoost writes is parsed immediately and never read from a file.
 */
#ifndef DAEMON_PREDICT_LEARN_BOOST_H
#define DAEMON_PREDICT_LEARN_BOOST_H

#include "daemon/predict/learn/forest.h"
#include "daemon/predict/onnx/complaint.h"

/* Fills an empty forest that approximates y. `check`, unless NULL, receives XGBoost's own
 * prediction for each row. Returns 0, or -EINVAL or -ENOMEM with the reason in `why`. */
int boost_train(struct forest *f, const struct columns *x, const double *y, uint32_t rows,
                float *check, struct complaint *why);

#endif
