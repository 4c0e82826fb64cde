/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of a model: for people, as JSON, or its features as a line of a table. Pure.
 */
#ifndef DAEMON_PREDICT_TOOL_ANSWER_H
#define DAEMON_PREDICT_TOOL_ANSWER_H

#include <stdio.h>

#include "daemon/predict/learn/predictor.h"
#include "daemon/predict/tool/predict_options.h"

struct answer {
    const struct predict_options *o;
    const struct features *f;
    const char *device; /* that it is said of */
    struct need need;
    const struct predictor *p; /* NULL: nothing was learned of that device */
    double utilisation;        /* 0 to 1, by p */
};

void answer_text(const struct answer *a, FILE *out);
void answer_json(const struct answer *a, FILE *out);
/* A head and a line: columns_name, and what equation (2) says; before them, where there is such,
 * what was measured, as rows.h takes it. */
void answer_features(const struct answer *a, FILE *out);

#endif
