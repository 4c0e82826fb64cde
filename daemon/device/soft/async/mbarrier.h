/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers in shared memory, and the completion of asynchronous copies on them.
 */
#ifndef DAEMON_DEVICE_SOFT_ASYNC_MBARRIER_H
#define DAEMON_DEVICE_SOFT_ASYNC_MBARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Counts `bytes` as arrived at the barrier at `at`, and ends its phase if nothing more is pending.
 * `at` is an aligned address in the cluster's shared memory. Returns false after a fault. */
bool mbarrier_came(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t at,
                   uint32_t bytes);

enum code_mbarrier {
    CODE_MBARRIER_INIT,
    CODE_MBARRIER_INVAL,
    CODE_MBARRIER_EXPECT, /* announces bytes */
    CODE_MBARRIER_COMPLETE,
    CODE_MBARRIER_ARRIVE,
    CODE_MBARRIER_DROP,
    CODE_MBARRIER_ARRIVE_EXPECT,
    CODE_MBARRIER_DROP_EXPECT,
    CODE_MBARRIER_WAIT,
    CODE_MBARRIER_PENDING,
};
code_handler *mbarrier_select(enum code_mbarrier what);

#endif
