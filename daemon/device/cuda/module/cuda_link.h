/* SPDX-License-Identifier: Apache-2.0
 *
 * Relocatable code of several units that is not linked yet: a program's input to cuLinkAddData. The
 * driver's linker makes one image of it.
 *
 * Owner: the caller's driver. Threads: one at a time, in a context.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_LINK_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_LINK_H

#include "daemon/device/cuda/driver/driver.h"

/* `units`: whole fatbins, NULL-terminated. The options go to the linker. Returns the driver's
 * result. */
CUresult cuda_link_load(const struct driver *d, const void *const *units, CUjit_option *options,
                        void **values, unsigned int count, CUmodule *out);

#endif
