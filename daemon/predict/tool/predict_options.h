/* SPDX-License-Identifier: Apache-2.0
 *
 * What salus-predict is asked. Owner: the caller, of the arguments too, at which it points.
 */
#ifndef DAEMON_PREDICT_TOOL_PREDICT_OPTIONS_H
#define DAEMON_PREDICT_TOOL_PREDICT_OPTIONS_H

#include "daemon/predict/features/need.h"
#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/shape/infer.h"

#define PREDICT_OPTIONS_SIZES_MAX 8
#define PREDICT_OPTIONS_DEVICE "soft"

/* What a daemon measured of the same job; runs 0: nothing. */
struct predict_measured {
    uint64_t runs, demand_milli, persistent_bytes, ephemeral_bytes;
};

struct predict_options {
    const char *model;
    const char *predictor; /* NULL: the device's own */
    const char *device;    /* NULL: that of the predictor; without one, PREDICT_OPTIONS_DEVICE */
    const char *job;       /* that `measured` is of */
    const char *family;    /* of architectures, for a table; NULL: the job's name */
    struct infer_options infer;
    struct infer_size sizes[PREDICT_OPTIONS_SIZES_MAX];
    enum need_optimiser optimiser;
    struct predict_measured measured;
    bool json, features, help;
};

/* The arguments without the program's name, which end with NULL. 0, or -EINVAL and why. */
int predict_options_parse(struct predict_options *o, char **argv, struct complaint *why);

#endif
