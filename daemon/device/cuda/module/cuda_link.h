/* SPDX-License-Identifier: Apache-2.0
 *
 * Relocatable code of several units, of which nothing is linked yet: what a program gave to
 * cuLinkAddData. The driver's linker makes one image of it.
 *
 * Owner: the caller's driver. Threads: one at a time, in a context.
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_LINK_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_LINK_H

#include "daemon/device/cuda/driver/driver.h"

/* `units`: whole fatbins, NULL-terminated. The driver's result; the options are its linker's. */
CUresult cuda_link_load(const struct driver *d, const void *const *units, CUjit_option *options,
                        void **values, unsigned int count, CUmodule *out);

#endif
