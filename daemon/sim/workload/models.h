/* SPDX-License-Identifier: Apache-2.0
 *
 * The fifteen networks of the Salus paper's Table 3 as jobs for the simulator. The paper shows
 * memory and time only as figures. docs/results/2026-11-simulator.md gives the source of each
 * number here, and says which are read from figures and which are computed by a rule.
 */
#ifndef DAEMON_SIM_WORKLOAD_MODELS_H
#define DAEMON_SIM_WORKLOAD_MODELS_H

#include <stdint.h>

#include "daemon/sim/workload/workload.h"

#define MODEL_BATCHES 3

struct model {
    const char *name;
    const char *labels[MODEL_BATCHES];   /* as in job names: resnet50_75 */
    uint32_t batches[MODEL_BATCHES];     /* items per iteration */
    double params_m;                     /* millions of parameters */
    double persistent_mb, item_mb;       /* training: P, and E per item; 10^6 bytes */
    double items_s;                      /* training alone on a P100 */
    uint32_t train_milli, request_milli; /* fraction of the device that can be used alone */
};

extern const struct model models[];
extern const uint32_t models_count;

/* NULL if there is no such model. */
const struct model *model_find(const char *name);

/* A training job with the batch-th batch size that takes about `duration_ns` alone, at least one
 * iteration. */
void model_train(struct workload_job *out, const struct model *m, uint32_t batch,
                 uint64_t duration_ns);
/* A serving job with requests of four items. */
void model_serve(struct workload_job *out, const struct model *m, uint32_t requests);

#endif
