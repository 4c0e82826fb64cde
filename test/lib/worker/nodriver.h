/* SPDX-License-Identifier: Apache-2.0
 *
 * Driver-interface functions for test doubles of devices without a driver: every call succeeds, and
 * all memory is in the windows and mapped. A double uses these functions in its own dev_driver_ops,
 * beside those that it observes.
 */
#ifndef TEST_LIB_NODRIVER_H
#define TEST_LIB_NODRIVER_H

#include "daemon/device/device_driver.h"

static inline int nodriver_lost(struct dev *dev) {
    (void)dev;
    return 0;
}

static inline bool nodriver_owns(const struct dev_space *space, uint64_t addr, uint64_t bytes) {
    (void)space, (void)addr, (void)bytes;
    return false;
}

static inline int nodriver_show(struct dev_space *space, uint64_t addr, uint64_t bytes) {
    (void)space, (void)addr, (void)bytes;
    return 0;
}

static inline bool nodriver_shown(const struct dev_space *space, uint64_t addr, uint64_t bytes) {
    (void)space, (void)addr, (void)bytes;
    return true;
}

/* Does nothing: the device measures exact times by itself. */
static inline void nodriver_time(struct dev_queue *queue, struct dev_op *op) {
    (void)queue, (void)op;
}

#endif
