/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's view of a GPU, queried each time: the library has no state that a fork, a daemon's
 * restart, or a second thread could spoil.
 *
 * This library numbers GPUs as CUDA_VISIBLE_DEVICES does, up to the GPU of this process, which is
 * the last. So frameworks that count GPUs here, and then those of the list, find the one that CUDA
 * shows. Without a list that GPU is number 0.
 */
#ifndef SHIM_NVML_VIEW_H
#define SHIM_NVML_VIEW_H

#include "proto/wire/wire.h"
#include "shim/nvml/nvml.h"

/* The number of devices that this process sees, at least 1. Preserves errno. */
unsigned int view_count(void);

/* Queries the device with this index. `out` is valid only with NVML_SUCCESS. Preserves errno. */
nvml_result view_ask(unsigned int index, struct wire_view *out);

#endif
