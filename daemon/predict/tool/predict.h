/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-predict without its main: reads a model and prints an answer.
 */
#ifndef DAEMON_PREDICT_TOOL_PREDICT_H
#define DAEMON_PREDICT_TOOL_PREDICT_H

#include <stdio.h>

/* Returns the exit status: 0; 1 for an invalid model or predictor; 2 for an error on the command
 * line. */
int predict_main(FILE *out, FILE *err, char **argv);

#endif
