/* SPDX-License-Identifier: Apache-2.0
 *
 * The device as a job sees it: the device's own description (proto/cuda/description.h), except for
 * the attributes that Salus decides itself, which are in one table. Once connected; any thread.
 */
#ifndef SHIM_DEVICE_DEVICE_VIEW_H
#define SHIM_DEVICE_DEVICE_VIEW_H

#include <stdbool.h>

#include "proto/cuda/cuda_abi.h"

/* Returns true when there is an answer, in *value. It is 0 for attributes that CUDA defines and the
 * device's driver does not know, and for features that the job's capability lacks. The capability
 * is the device's; caller.h says which callers are told another one. */
bool device_view_attribute(CUdevice_attribute attribute, int *value);

/* Returns 0 for an unknown attribute. */
int device_view(CUdevice_attribute attribute);

/* The limit of a new context. */
size_t device_view_limit(CUlimit limit);

#endif
