/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the handler that runs an instruction, from the build that suits the processor.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_DISPATCH_SELECT_H
#define DAEMON_DEVICE_SOFT_ISA_DISPATCH_SELECT_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/instructions/ptx_texture.h"

/* Returns the ALU handler for an instruction whose slots are filled, or NULL if it is no ALU
 * operation or has an unsupported form. The handlers are compiled three times (x86-64, v3, v4);
 * cpuid chooses, or SALUS_SOFT_ISA=base|v3|v4 in tests. They only compute. Not among them are
 * memory accesses, control flow, barriers, operations of a whole warp (except shfl when the whole
 * warp arrives at once), cvta, isspacep, mov from special registers and mov of vectors. */
code_handler *isa_select(const struct code_inst *i);
/* Returns the handler of a load or store (access.h) whose slots are filled, or NULL if the form is
 * not supported. */
code_handler *isa_select_access(const struct code_inst *i);
/* Returns the handler of cp.async (copy.h). */
code_handler *isa_select_copy(const struct code_inst *i);
/* Returns the handler of a texture fetch, a query or istypep (fetch.h), or NULL for an access to a
 * surface. */
code_handler *isa_select_fetch(const struct ptx_texture *form);
/* Returns the handler of a matrix product (matrix.h), which all lanes run together. */
code_handler *isa_select_matrix(const struct code_inst *i);
/* Returns the name of the chosen build: "base", "v3" or "v4". */
const char *isa_name(void);

/* Returns the bytes per lane that a handler reads for source `operand`, the width to which an
 * immediate is broadcast. `operand` is an index into ptx_inst.operands; the destination is 0. The
 * result is 0 for a predicate's mask. Valid only for operations that isa_select knows. */
uint32_t isa_operand_bytes(const struct ptx_inst *i, uint32_t operand);

#endif
