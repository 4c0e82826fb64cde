/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the answer for a model: as text, as JSON, or the features as a line of a table. Pure.
 */
#ifndef DAEMON_PREDICT_TOOL_ANSWER_H
#define DAEMON_PREDICT_TOOL_ANSWER_H

#include <stdio.h>

#include "daemon/predict/learn/predictor.h"
#include "daemon/predict/tool/predict_options.h"

struct answer {
    const struct predict_options *o;
    const struct features *f;
    const char *device; /* device of the prediction */
    struct need need;
    const struct predictor *p; /* NULL: no predictor for the device */
    double utilisation;        /* 0 to 1, predicted by `p` */
};

void answer_text(const struct answer *a, FILE *out);
void answer_json(const struct answer *a, FILE *out);
/* Prints a header and one line: the columns of columns_name and the estimates by equation (2).
 * Measurements, if any, come first, in the format of rows.h. */
void answer_features(const struct answer *a, FILE *out);

#endif
