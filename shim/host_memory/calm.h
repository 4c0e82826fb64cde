/* SPDX-License-Identifier: Apache-2.0
 *
 * Exchanges pages of the program without losing writes of other threads, in one of three ways: no
 * other thread exists, other threads are blocked from the pages, or they all sleep. One caller at a
 * time.
 */
#ifndef SHIM_HOST_MEMORY_CALM_H
#define SHIM_HOST_MEMORY_CALM_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/host_memory/quiet.h"

struct calm {
    int guard; /* as in shadow.h; SHADOW_BESIDE: none of the three ways */
    bool made; /* the threads were found asleep by quiet_begin, which must be ended */
    struct quiet quiet;
};

/* Begins an exchange of the pages [lo, hi). `patience_ns`: how long to wait for running threads. */
void calm_begin(struct calm *c, uint64_t lo, uint64_t hi, uint64_t patience_ns);
void calm_end(struct calm *c);

#endif
