/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a device module in one blocking call, for tests that may wait.
 */
#ifndef TEST_LIB_DEVMODULE_H
#define TEST_LIB_DEVMODULE_H

#include "daemon/device/device.h"

static inline int devmodule_load(const struct dev_ops *ops, struct dev_space *space,
                                 uint32_t capability, const void *image, size_t bytes,
                                 struct dev_module **out, char *why, size_t why_bytes) {
    int err = ops->module_read(space, capability, image, bytes, out, why, why_bytes);
    if (err) return err;
    err = ops->module_place(*out, why, why_bytes);
    if (!err) return 0;
    ops->module_free(*out);
    *out = NULL;
    return err;
}

static inline void devmodule_unload(const struct dev_ops *ops, struct dev_module *module) {
    ops->module_remove(module);
    ops->module_free(module);
}

#endif
