/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a function may wait for what another block does: an instruction by which that is seen
 * stands where it may be done again. Owner: the caller. Threads: any; the function is read only.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_WAIT_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct subgrid_wait {
    const struct ptx_func *func;
    uint32_t
        *loops;     /* of each instruction, backward branches that go from behind it to before it */
    uint32_t *uses; /* of each register, operands that name it */
};

/* 0 or -ENOMEM. */
int subgrid_wait_init(struct subgrid_wait *w, const struct ptx_func *f);
void subgrid_wait_finish(struct subgrid_wait *w);

/* It may be done again by the same thread: whoever comes back to it passes it backwards. */
bool subgrid_wait_again(const struct subgrid_wait *w, const struct ptx_inst *i);
/* It tells of what other blocks did. Weak loads tell nothing in a launch without races, nor atomics
 * whose result nobody reads. */
bool subgrid_wait_sees(const struct subgrid_wait *w, const struct ptx_inst *i);

#endif
