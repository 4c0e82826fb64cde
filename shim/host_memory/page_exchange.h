/* SPDX-License-Identifier: Apache-2.0
 *
 * Exchanges pages of the program without losing writes of other threads, in one of three ways: no
 * other thread exists, other threads are blocked from the pages, or they all sleep. One caller at a
 * time.
 */
#ifndef SHIM_HOST_MEMORY_PAGE_EXCHANGE_H
#define SHIM_HOST_MEMORY_PAGE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/host_memory/quiescence.h"

struct calm {
    int guard; /* as in shadow.h; SHADOW_BESIDE: none of the three ways */
    bool made; /* the threads were found asleep by quiescence_begin, which must be ended */
    struct quiet quiet;
};

/* Begins an exchange of the pages [lo, hi). `patience_ns`: how long to wait for running threads. */
void page_exchange_begin(struct calm *c, uint64_t lo, uint64_t hi, uint64_t patience_ns);
void page_exchange_end(struct calm *c);

#endif
