/* SPDX-License-Identifier: Apache-2.0
 *
 * For which architecture PTX text is. Pure.
 */
#ifndef SHIM_CODE_PTX_TARGET_H
#define SHIM_CODE_PTX_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* 75 for ".target sm_75"; 0 when the text does not begin like PTX, or has none. */
uint32_t ptx_target(const char *text, size_t bytes);

#endif
