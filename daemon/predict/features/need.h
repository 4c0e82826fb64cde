/* SPDX-License-Identifier: Apache-2.0
 *
 * Estimates memory by Horus's equation (2), (B * A + P) + B * G + delta, split as Salus does.
 * Persistent memory P stays over iterations: parameters, optimiser state, delta. Ephemeral memory E
 * exists within one iteration: activations, gradients. Pure.
 */
#ifndef DAEMON_PREDICT_FEATURES_NEED_H
#define DAEMON_PREDICT_FEATURES_NEED_H

#include "daemon/predict/features/features.h"

/* X(NAME, word, numbers that the optimiser stores per parameter) */
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
    uint64_t persistent_bytes, ephemeral_bytes; /* sums of the members above */
};

/* Optimiser "none" means inference, which has no gradients. */
void need_estimate(struct need *n, const struct features *f, enum need_optimiser optimiser,
                   uint64_t delta_bytes);
/* -1 if there is no such optimiser. */
int need_find_optimiser(const char *word);

#endif
