/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/features/need.h"

#include <string.h>

static const struct {
    const char *word;
    unsigned kept;
} optimisers[] = {
#define X(name, word, kept) {word, kept},
    NEED_OPTIMISERS(X)
#undef X
};

void need_estimate(struct need *n, const struct features *f, enum need_optimiser optimiser,
                   uint64_t delta_bytes) {
    *n = (struct need){.parameters_bytes = f->parameters_bytes,
                       .optimiser_bytes = f->parameters_bytes * optimisers[optimiser].kept,
                       .buffers_bytes = f->buffers_bytes,
                       .delta_bytes = delta_bytes,
                       .activations_bytes = f->activations_bytes,
                       .gradients_bytes = optimiser == NEED_NONE ? 0 : f->gradients_bytes,
                       .input_bytes = f->input_bytes};
    n->persistent_bytes = n->parameters_bytes + n->optimiser_bytes + n->buffers_bytes + delta_bytes;
    n->ephemeral_bytes = n->activations_bytes + n->gradients_bytes + n->input_bytes;
}

int need_find_optimiser(const char *word) {
    for (unsigned i = 0; i < sizeof(optimisers) / sizeof(optimisers[0]); i++)
        if (strcmp(optimisers[i].word, word) == 0) return (int)i;
    return -1;
}
