/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that calls about a device make first.
 */
#ifndef SHIM_NVML_DEVICE_H
#define SHIM_NVML_DEVICE_H

#include <stdbool.h>

#include "shim/nvml/nvml.h"
#include "shim/nvml/view.h"

/* Does the same as library_enter, and checks the handle too. */
nvml_result device_enter(nvml_handle device, bool arguments_given);

/* Does the same, and then gets the broker's view of the device. */
nvml_result device_look(nvml_handle device, bool arguments_given, struct wire_view *out);

#endif
