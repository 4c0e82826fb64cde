/* SPDX-License-Identifier: Apache-2.0
 *
 * Words by which kernels decide about conditional nodes. A handle is where the word is: in the host
 * window, so that kernels write it and this library reads it. With graph_lock held.
 */
#ifndef SHIM_GRAPH_CONDITION_H
#define SHIM_GRAPH_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* One of a graph's; copies of the graph have the same words. */
struct condition {
    uint64_t addr;
    uint32_t value;
    bool assigned;                   /* `value`, where the graph begins */
    struct condition_shared *shared; /* by all copies of it */
    struct condition *next;
};

struct condition_shared {
    uint32_t holders;
    bool claimed; /* by an executable graph: for words that have one at a time */
};

/* `bytes`: of the word and what follows it. */
CUresult condition_create(struct condition **list, uint64_t bytes, uint32_t value, bool assigned,
                          uint64_t *addr);
bool condition_has(const struct condition *list, uint64_t addr);
/* A list of the same. */
CUresult condition_share(const struct condition *list, struct condition **out);
void condition_free(struct condition *list);

#endif
