/* SPDX-License-Identifier: Apache-2.0
 *
 * A loop over the lanes of a warp. No iteration depends on another, so that it vectorises.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_EACH_LANE_H
#define DAEMON_DEVICE_SOFT_LAUNCH_EACH_LANE_H

#include "daemon/device/soft/code/code.h"

#ifdef __clang__
/* Loops that stay scalar are fine. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define EACH_LANE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_LANE_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define EACH_LANE(l) EACH_LANE_INDEPENDENT for (uint32_t l = 0; l < WARP_LANES; l++)

#endif
