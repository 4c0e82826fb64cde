/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the architecture of PTX text. Pure.
 */
#ifndef SHIM_CODE_PTX_TARGET_H
#define SHIM_CODE_PTX_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Returns 75 for ".target sm_75"; 0 when the text does not begin like PTX, or has no target. */
uint32_t ptx_target(const char *text, size_t bytes);

#endif
