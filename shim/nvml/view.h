/* SPDX-License-Identifier: Apache-2.0
 *
 * What the broker says of the GPU of this process's job, else of SALUS_GPU, else of the first,
 * asked anew each time: nothing is kept that a fork, a daemon that went, or a second thread could
 * spoil.
 */
#ifndef SHIM_NVML_VIEW_H
#define SHIM_NVML_VIEW_H

#include <stddef.h>

#include "proto/wire.h"
#include "shim/nvml/nvml.h"

/* One connection, one question, one answer. With another result than NVML_SUCCESS `out` is not
 * valid. Preserves errno. */
nvml_result view_ask(struct wire_view *out);

/* An answer of so many bytes, checked: 0 with *out, the refusal's error, or ERR_PROTOCOL. */
int view_check(const void *msg, size_t bytes, struct wire_view *out);

#endif
