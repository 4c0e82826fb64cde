/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job is told of the device: the device's own words (proto/cuda/description.h), but for what
 * Salus decides whatever the device says, which is one table. Once connected; any thread.
 */
#ifndef SHIM_DEVICE_SHOWN_H
#define SHIM_DEVICE_SHOWN_H

#include <stdbool.h>

#include "proto/cuda/cuda_abi.h"

/* Whether there is an answer; then in *value: 0 for what CUDA has, and the device's driver does not
 * know. The capability is the device's: what a caller is told
 * instead says asker.h. */
bool shown_attribute(CUdevice_attribute attribute, int *value);

/* 0 where there is none. */
int shown(CUdevice_attribute attribute);

/* Of a new context. */
size_t shown_limit(CUlimit limit);

#endif
