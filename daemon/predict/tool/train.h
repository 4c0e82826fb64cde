/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-predict-train without its main: reads a table of measurements and writes a predictor.
 */
#ifndef DAEMON_PREDICT_TOOL_TRAIN_H
#define DAEMON_PREDICT_TOOL_TRAIN_H

#include <stdio.h>

/* Returns an exit status like predict_main. */
int train_main(FILE *out, FILE *err, char **argv);

#endif
