/* SPDX-License-Identifier: Apache-2.0
 *
 * How pages of the program can be exchanged without losing what other threads write meanwhile:
 * there is no other, they are kept from these pages, or they sleep. One at a time.
 */
#ifndef SHIM_HOST_MEMORY_CALM_H
#define SHIM_HOST_MEMORY_CALM_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/host_memory/quiet.h"

struct calm {
    int guard; /* as shadow.h has it; SHADOW_BESIDE: in no way */
    bool made; /* it is quiet because of this */
    struct quiet quiet;
};

/* Of the pages [lo, hi). `patience_ns`: to wait for threads that run. */
void calm_begin(struct calm *c, uint64_t lo, uint64_t hi, uint64_t patience_ns);
void calm_end(struct calm *c);

#endif
