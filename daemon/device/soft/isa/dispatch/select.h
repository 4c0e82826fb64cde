/* SPDX-License-Identifier: Apache-2.0
 *
 * Which handler runs an instruction, of the build that suits the processor.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_DISPATCH_SELECT_H
#define DAEMON_DEVICE_SOFT_ISA_DISPATCH_SELECT_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/instructions/ptx_texture.h"

/* The ALU handler for an instruction whose slots are filled; NULL: not an ALU operation
 * or not supported in this form. Compiled three times (x86-64, v3, v4); cpuid chooses,
 * or by SALUS_SOFT_ISA=base|v3|v4 for tests. Handlers of tier 1 to 3 that only compute: everything
 * except ld st atom red bra brx call ret exit bar barrier shfl vote match redux activemask trap
 * membar fence cvta isspacep mov-from-special-register mov-of-vectors, which exec/ owns.
 */
code_handler *isa_select(const struct code_inst *i);
/* The handler of a load or store (access.h) whose slots are filled; NULL: not supported. */
code_handler *isa_select_access(const struct code_inst *i);
/* The handler of cp.async (copy.h). */
code_handler *isa_select_copy(const struct code_inst *i);
/* The handler of a fetch from a texture or a question about one (fetch.h); NULL: of a surface. */
code_handler *isa_select_fetch(const struct ptx_texture *form);
/* The handler of a product of matrices (matrix.h), run together. */
code_handler *isa_select_matrix(const struct code_inst *i);
/* Which build: "base", "v3" or "v4". */
const char *isa_name(void);

/* Bytes of each lane that a handler reads for source `operand` (its index in ptx_inst.operands, the
 * destination being 0), which is the width to broadcast an immediate with; 0: a predicate's mask.
 * Only for the operations isa_select knows. */
uint32_t isa_operand_bytes(const struct ptx_inst *i, uint32_t operand);

#endif
