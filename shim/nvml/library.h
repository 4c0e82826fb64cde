/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the library is initialised: the gate of every function.
 */
#ifndef SHIM_NVML_LIBRARY_H
#define SHIM_NVML_LIBRARY_H

#include <stdbool.h>

#include "shim/nvml/nvml.h"

/* NVML_SUCCESS, or what a call with these arguments is answered with, initialisation first. */
nvml_result library_enter(bool arguments_given);

/* `text` into the caller's buffer, whole or not at all. */
nvml_result library_give(const char *text, char *out, unsigned int length);

#endif
