/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices: the gate of calls about one.
 */
#ifndef SHIM_NVML_DEVICE_H
#define SHIM_NVML_DEVICE_H

#include <stdbool.h>

#include "shim/nvml/nvml.h"
#include "shim/nvml/view.h"

/* As library_enter; the handle is an argument too. */
nvml_result device_enter(nvml_handle device, bool arguments_given);

/* The same, and then what the broker says of it. */
nvml_result device_look(nvml_handle device, bool arguments_given, struct wire_view *out);

#endif
