/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's view of a GPU, asked anew each time: nothing is kept that a fork, a daemon that
 * went, or a second thread could spoil.
 *
 * This library numbers GPUs as CUDA_VISIBLE_DEVICES does, up to the one that this process has,
 * which is the last: so frameworks that count GPUs here, and then those of the list, find the one
 * that CUDA shows. Without a list that one is number 0.
 */
#ifndef SHIM_NVML_VIEW_H
#define SHIM_NVML_VIEW_H

#include "proto/wire/wire.h"
#include "shim/nvml/nvml.h"

/* Devices that this process sees, at least 1. Preserves errno. */
unsigned int view_count(void);

/* One question about the device with this index. With another result than NVML_SUCCESS `out` is not
 * valid. Preserves errno. */
nvml_result view_ask(unsigned int index, struct wire_view *out);

#endif
