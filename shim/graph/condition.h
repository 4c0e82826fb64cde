/* SPDX-License-Identifier: Apache-2.0
 *
 * Words by which kernels decide about conditional nodes. A handle is the word's address in the host
 * window, so that kernels write it and this library reads it. The caller holds graph_lock.
 */
#ifndef SHIM_GRAPH_CONDITION_H
#define SHIM_GRAPH_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* A condition of a graph; copies of the graph have the same words. */
struct condition {
    uint64_t addr;
    uint32_t value;
    bool assigned;                   /* the word is set to `value` where the graph begins */
    struct condition_shared *shared; /* shared by all copies of the condition */
    struct condition *next;
};

struct condition_shared {
    uint32_t holders;
    bool claimed; /* in use by an executable graph, for words that only one at a time may have */
};

/* Creates a condition and adds it to the list. `bytes`: the size of the word and of the data behind
 * it. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult condition_create(struct condition **list, uint64_t bytes, uint32_t value, bool assigned,
                          uint64_t *addr);
bool condition_has(const struct condition *list, uint64_t addr);
/* Makes another list of the same conditions. */
CUresult condition_share(const struct condition *list, struct condition **out);
void condition_free(struct condition *list);

#endif
