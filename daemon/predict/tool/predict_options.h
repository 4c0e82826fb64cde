/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of salus-predict. Owner: the caller, also of the arguments that the options
 * point to.
 */
#ifndef DAEMON_PREDICT_TOOL_PREDICT_OPTIONS_H
#define DAEMON_PREDICT_TOOL_PREDICT_OPTIONS_H

#include "daemon/predict/features/need.h"
#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/shape/infer.h"

#define PREDICT_OPTIONS_SIZES_MAX 8
#define PREDICT_OPTIONS_DEVICE "soft"

/* A daemon's measurements of the same job; runs 0: none. */
struct predict_measured {
    uint64_t runs, demand_milli, persistent_bytes, ephemeral_bytes;
};

struct predict_options {
    const char *model;
    const char *predictor; /* NULL: the device's own */
    /* NULL: the predictor's device; without a predictor, PREDICT_OPTIONS_DEVICE. */
    const char *device;
    const char *job;    /* the job of `measured` */
    const char *family; /* family of architectures, for a table; NULL: the job's name */
    struct infer_options infer;
    struct infer_size sizes[PREDICT_OPTIONS_SIZES_MAX];
    enum need_optimiser optimiser;
    struct predict_measured measured;
    bool json, features, help;
};

/* Parses the arguments after the program's name; a NULL ends them. Returns 0, or -EINVAL with the
 * reason in `why`. */
int predict_options_parse(struct predict_options *o, char **argv, struct complaint *why);

#endif
