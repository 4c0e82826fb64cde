/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the invariants of a parsed module that its consumers rely on, by walking all of it.
 */
#ifndef TEST_LIB_PTX_CHECK_H
#define TEST_LIB_PTX_CHECK_H

#include "daemon/device/soft/instructions/ptx_ir.h"

/* Returns NULL, or what is wrong. Reads every byte that the module refers to. */
const char *ptx_check(const struct ptx_module *m);

#endif
