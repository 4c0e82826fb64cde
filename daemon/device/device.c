/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of backends. A backend that only tests use is never the default.
 */
#include "daemon/device/device.h"

#include <string.h>

static const struct dev_ops *const backends[] = {
    &dev_soft,
    &dev_cuda,
};

const struct dev_ops *device_find(const char *name) {
    if (!name) return backends[0];
    for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++)
        if (!strcmp(backends[i]->name, name)) return backends[i];
    return NULL;
}
