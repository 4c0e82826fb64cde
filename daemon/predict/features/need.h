/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory by Horus's equation (2), (B * A + P) + B * G + delta, as Salus has it: what is kept over
 * iterations (P: parameters, the optimiser's state, delta) and what is there within one (E:
 * activations, gradients). Pure.
 */
#ifndef DAEMON_PREDICT_FEATURES_NEED_H
#define DAEMON_PREDICT_FEATURES_NEED_H

#include "daemon/predict/features/features.h"

/* X(NAME, word, numbers that it keeps for each parameter) */
#define NEED_OPTIMISERS(X) \
    X(NONE, "none", 0) X(SGD, "sgd", 0) X(MOMENTUM, "momentum", 1) X(ADAM, "adam", 2)

enum need_optimiser {
#define X(name, word, kept) NEED_##name,
    NEED_OPTIMISERS(X)
#undef X
};

struct need {
    uint64_t parameters_bytes, optimiser_bytes, buffers_bytes, delta_bytes;
    uint64_t activations_bytes, gradients_bytes, input_bytes;
    uint64_t persistent_bytes, ephemeral_bytes; /* sums of the two lines */
};

/* "none" is inference: nothing has a gradient. */
void need_estimate(struct need *n, const struct features *f, enum need_optimiser optimiser,
                   uint64_t delta_bytes);
/* -1: there is no such optimiser. */
int need_find_optimiser(const char *word);

#endif
