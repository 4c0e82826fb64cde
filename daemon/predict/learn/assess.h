/* SPDX-License-Identifier: Apache-2.0
 *
 * Training, and its honest error: each family of architectures is predicted by what was trained on
 * the others alone. RMSLE, the root of the mean of (log(1 + predicted) - log(1 + measured))
 * squared, is of percent (Horus, section 4.1.1).
 */
#ifndef DAEMON_PREDICT_LEARN_ASSESS_H
#define DAEMON_PREDICT_LEARN_ASSESS_H

#include "daemon/predict/learn/predictor.h"

/* A predictor of all rows; `each`, where not NULL, gets what each was predicted while its family
 * was left out. 0; or -EINVAL, -ENOMEM and why. Then too the caller finishes it. */
int assess_train(struct predictor *p, const struct rows *r, double *each, struct complaint *why);

/* Of so many, from 0 to 1 each. */
double assess_rmsle(const double *predicted, const double *measured, uint32_t count);

#endif
