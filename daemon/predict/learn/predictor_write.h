/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a predictor to its file.
 */
#ifndef DAEMON_PREDICT_LEARN_PREDICTOR_WRITE_H
#define DAEMON_PREDICT_LEARN_PREDICTOR_WRITE_H

#include "daemon/predict/learn/predictor.h"

void predictor_write(const struct predictor *p, FILE *out);

#endif
