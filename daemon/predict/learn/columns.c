/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/learn/columns.h"

#include <math.h>

static const char *const first[COLUMNS_FIRST] = {"flops", "parameters_bytes", "batch",
                                                 "activations_bytes"};

const char *columns_name(unsigned i) {
    return i < COLUMNS_FIRST ? first[i]
                             : features_count_name((enum features_count)(i - COLUMNS_FIRST));
}

double columns_value(const struct features *f, unsigned i) {
    switch (i) {
    case 0: return f->flops;
    case 1: return (double)f->parameters_bytes;
    case 2: return (double)f->batch;
    case 3: return (double)f->activations_bytes;
    default: return f->counts[i - COLUMNS_FIRST];
    }
}

void columns_set(struct features *f, unsigned i, double value) {
    switch (i) {
    case 0: f->flops = value; break;
    case 1: f->parameters_bytes = (uint64_t)value; break;
    case 2: f->batch = (uint64_t)value; break;
    case 3: f->activations_bytes = (uint64_t)value; break;
    default: f->counts[i - COLUMNS_FIRST] = (uint32_t)value;
    }
}

void columns_of(struct columns *c, const struct features *f) {
    for (unsigned i = 0; i < COLUMNS; i++)
        c->x[i] = (float)log1p(columns_value(f, i));
}
