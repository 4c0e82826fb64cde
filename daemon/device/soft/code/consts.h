/* SPDX-License-Identifier: Apache-2.0
 *
 * A function's constant pool while the function is being decoded. Each distinct immediate is stored
 * once, broadcast to 32 lanes and found by hash, so that every operand of an instruction is a
 * pointer.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_CONSTS_H
#define DAEMON_DEVICE_SOFT_CODE_CONSTS_H

#include <stdint.h>

#include "common/slotmap.h"

struct consts_entry {
    uint64_t bits;
    uint32_t bytes; /* width of a lane; 0: predicate */
    int32_t slot;
};

struct consts {
    unsigned char *data;
    uint32_t len, room;
    struct consts_entry *entries;
    uint32_t count, cap;
    struct slotmap by_value; /* finds entries */
};

void consts_init(struct consts *c);
void consts_finish(struct consts *c);

/* Returns the slot (< 0) of an immediate for lanes of `bytes` bytes (2, 4, 8 or 16; 0: a
 * predicate's mask). Of 16 bytes the upper 8 are zero. Returns 0 when out of memory. */
int32_t consts_slot(struct consts *c, uint64_t bits, uint32_t bytes);

#endif
