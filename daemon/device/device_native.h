/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: it has its own form of tensor maps, and its own count of the
 * clusters that it holds. info.maps and info.clusters tell clients the same.
 *
 * A backend without it (dev_ops.native is NULL) takes tensor maps in the form of tensor_map.h, and
 * holds the clusters that proto/cuda/occupancy.h computes: the client's library does both. The
 * worker then expels a client that asks, which our library never does.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_NATIVE_H
#define DAEMON_DEVICE_DEVICE_NATIVE_H

#include "daemon/device/device.h"
#include "proto/cuda/tensor_map.h"

struct dev_native_ops {
    /* Encodes a tensor map for the device from arguments that tensor_ask_is_sane accepts: -EINVAL,
     * -ENOTSUP. The address is not checked. */
    int (*tensor_map)(struct dev *dev, const struct tensor_ask *ask, struct tensor_answer *out);
    /* Number of clusters that the device holds at once for launches like this one (its parameters,
     * queue and graph do not matter). With `largest`: the most blocks that a cluster of theirs can
     * have; 0: none fits. Shares of queues are not considered. */
    int (*cluster_count)(const struct dev_launch *like, bool largest, uint32_t *count);
};

#endif
