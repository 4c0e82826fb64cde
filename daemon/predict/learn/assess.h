/* SPDX-License-Identifier: Apache-2.0
 *
 * Trains a predictor and measures its honest error: a predictor trained on the other families of
 * architectures predicts each family. The error is RMSLE, the root of the mean of (log(1 +
 * predicted) - log(1 + measured)) squared, over percentages (Horus, section 4.1.1).
 */
#ifndef DAEMON_PREDICT_LEARN_ASSESS_H
#define DAEMON_PREDICT_LEARN_ASSESS_H

#include "daemon/predict/learn/predictor.h"

/* Trains a predictor on all rows. `each`, unless NULL, receives the prediction for each row with
 * its family left out. Returns 0, or -EINVAL or -ENOMEM with the reason in `why`; the caller
 * finishes the predictor in either case. */
int assess_train(struct predictor *p, const struct rows *r, double *each, struct complaint *why);

/* RMSLE over `count` values from 0 to 1. */
double assess_rmsle(const double *predicted, const double *measured, uint32_t count);

#endif
