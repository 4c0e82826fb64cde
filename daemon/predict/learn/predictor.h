/* SPDX-License-Identifier: Apache-2.0
 *
 * What was learned of a device, and a file of it. Anybody may have written the file: what is read
 * is bounded and sound, and predictions are within 0 and 1 whatever its numbers are. Owner: the
 * caller.
 */
#ifndef DAEMON_PREDICT_LEARN_PREDICTOR_H
#define DAEMON_PREDICT_LEARN_PREDICTOR_H

#include <stdio.h>

#include "daemon/predict/learn/forest.h"
#include "daemon/predict/learn/rows.h"
#include "daemon/predict/onnx/complaint.h"

#define PREDICTOR_VERSION 1
#define PREDICTOR_FILE_MAX ((size_t)4 << 20)
#define PREDICTOR_TEXT_BYTES 240

struct predictor_family {
    char name[ROWS_NAME_BYTES];
    uint32_t rows;
    double rmsle; /* with it left out of the training */
};

struct predictor {
    char device[ROWS_NAME_BYTES];
    char about[PREDICTOR_TEXT_BYTES]; /* what it was trained on, in words */
    uint32_t rows;
    struct predictor_family families[ROWS_FAMILIES_MAX];
    uint32_t families_count;
    double rmsle;        /* of all families, each left out of the training that predicts it */
    double linear_rmsle; /* of linear regression, the same way */
    double mean_rmsle;   /* of always the same answer */
    double delta_bytes;  /* of equation (2): the median of what P has more than it says */
    double ephemeral_delta_bytes;        /* the same of E, which may be less */
    float least[COLUMNS], most[COLUMNS]; /* what it has seen */
    struct forest forest;                /* of log(1 + percent) */
};

/* From 0 to 1. */
double predictor_utilisation(const struct predictor *p, const struct columns *c);
/* What a forest says of it, the same. */
double predictor_part(double logarithm);
double predictor_logarithm(double part);
/* How many columns lie outside of what it has seen; *first: one of them. */
uint32_t predictor_outside(const struct predictor *p, const struct columns *c, unsigned *first);

void predictor_finish(struct predictor *p);

#endif
