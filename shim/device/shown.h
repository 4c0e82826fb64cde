/* SPDX-License-Identifier: Apache-2.0
 *
 * The device as a job sees it: the device's own description (proto/cuda/description.h), except for
 * the attributes that Salus decides itself, which are in one table. Once connected; any thread.
 */
#ifndef SHIM_DEVICE_SHOWN_H
#define SHIM_DEVICE_SHOWN_H

#include <stdbool.h>

#include "proto/cuda/cuda_abi.h"

/* Returns true when there is an answer, in *value. 0 stands for attributes that CUDA defines and
 * the device's driver does not know. The capability is the device's; asker.h says which callers are
 * told another one. */
bool shown_attribute(CUdevice_attribute attribute, int *value);

/* Returns 0 for an unknown attribute. */
int shown(CUdevice_attribute attribute);

/* The limit of a new context. */
size_t shown_limit(CUlimit limit);

#endif
