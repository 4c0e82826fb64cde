/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-predict but for its main: a model in, an answer out.
 */
#ifndef DAEMON_PREDICT_TOOL_PREDICT_H
#define DAEMON_PREDICT_TOOL_PREDICT_H

#include <stdio.h>

/* The exit status: 0; 1, the model or the predictor is none; 2, a mistake of the command line. */
int predict_main(FILE *out, FILE *err, char **argv);

#endif
