/* SPDX-License-Identifier: Apache-2.0
 *
 * A trained predictor of one device, and its file format. The file is untrusted: what is read is
 * bounded and checked, and predictions stay within 0 and 1 for any numbers. Owner: the caller.
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
    double rmsle; /* error with this family left out of the training */
};

struct predictor {
    char device[ROWS_NAME_BYTES];
    char about[PREDICTOR_TEXT_BYTES]; /* description of the training data */
    uint32_t rows;
    struct predictor_family families[ROWS_FAMILIES_MAX];
    uint32_t families_count;
    double rmsle;        /* over all families, each left out of the training that predicts it */
    double linear_rmsle; /* error of linear regression, measured the same way */
    double mean_rmsle;   /* error of a constant prediction */
    double delta_bytes;  /* delta of equation (2): median of the measured P minus the estimate */
    double ephemeral_delta_bytes;        /* the same for E; may be negative */
    float least[COLUMNS], most[COLUMNS]; /* range of each column in the training data */
    struct forest forest;                /* predicts log(1 + percent) */
};

/* Predicted utilisation, from 0 to 1. */
double predictor_utilisation(const struct predictor *p, const struct columns *c);
/* Convert between a forest's output, log(1 + percent), and a utilisation from 0 to 1. */
double predictor_part(double logarithm);
double predictor_logarithm(double part);
/* Number of columns outside the range of the training data; *first is one of them. */
uint32_t predictor_outside(const struct predictor *p, const struct columns *c, unsigned *first);

void predictor_finish(struct predictor *p);

#endif
