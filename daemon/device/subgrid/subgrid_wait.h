/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds places where a function may wait for another block: an instruction that observes other
 * blocks and may be executed repeatedly. Owner: the caller. Threads: any; the function is read
 * only.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_WAIT_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct subgrid_wait {
    const struct ptx_func *func;
    /* For each instruction: the number of backward branches from behind it to before it. */
    uint32_t *loops;
    uint32_t *uses; /* for each register: operands that name it */
};

/* 0 or -ENOMEM. */
int subgrid_wait_init(struct subgrid_wait *w, const struct ptx_func *f);
void subgrid_wait_finish(struct subgrid_wait *w);

/* True when the same thread may execute the instruction again: a backward branch passes it. */
bool subgrid_wait_again(const struct subgrid_wait *w, const struct ptx_inst *i);
/* True when the instruction observes other blocks. Weak loads observe nothing in a launch without
 * races, nor do atomics whose result is not read. */
bool subgrid_wait_sees(const struct subgrid_wait *w, const struct ptx_inst *i);

#endif
