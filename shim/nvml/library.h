/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's initialisation, which every function checks first.
 */
#ifndef SHIM_NVML_LIBRARY_H
#define SHIM_NVML_LIBRARY_H

#include <stdbool.h>

#include "shim/nvml/nvml.h"

/* Returns NVML_SUCCESS, or the error for a call with these arguments; a missing initialisation
 * comes first. */
nvml_result library_enter(bool arguments_given);

/* Copies all of `text` into the caller's buffer, or nothing. */
nvml_result library_give(const char *text, char *out, unsigned int length);

#endif
