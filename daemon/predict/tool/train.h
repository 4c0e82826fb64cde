/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-predict-train but for its main: a table of measurements in, a predictor out.
 */
#ifndef DAEMON_PREDICT_TOOL_TRAIN_H
#define DAEMON_PREDICT_TOOL_TRAIN_H

#include <stdio.h>

/* As predict_main. */
int train_main(FILE *out, FILE *err, char **argv);

#endif
