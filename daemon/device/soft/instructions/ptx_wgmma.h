/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma: products of matrices by four warps together. b, and mostly a, lies in shared memory. Each
 * of the four warps has 16 rows of a and of the sum, so that its part is a row of mma's side by
 * side. Source: "Parallel Thread Execution ISA", "Asynchronous Warpgroup Level Matrix
 * Instructions".
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_WGMMA_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_WGMMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_rules.h"

#define PTX_WGMMA_A_REGS 4 /* registers of a lane, where a is in registers */

enum ptx_wgmma_verb {
    PTX_WGMMA_FENCE,
    PTX_WGMMA_COMMIT,
    PTX_WGMMA_WAIT,
    PTX_WGMMA_MULTIPLY,
    PTX_WGMMA_SPARSE,
};

struct ptx_wgmma {
    uint8_t verb;     /* enum ptx_wgmma_verb; the other members describe a product */
    uint8_t sum_regs; /* registers of a lane */
    uint8_t sum_type; /* enum ptx_type of the sum's registers */
    uint16_t n;       /* columns of b and of the sum */
    bool negates; /* the instruction has two operands, 1 or -1, by which a and b are multiplied */
    /* the instruction has operands that say whether a and b are stored by the other dimension */
    bool turns;
    uint32_t signs; /* sign bits of a's elements in a register */
    char mma[72];   /* opcode of the mma that each warp does for its 16 rows and 8 columns */
};

/* Matches `text` against the forms of wgmma. Returns false with `why` filled if none fits. */
bool ptx_wgmma_find(const char *text, struct ptx_wgmma *out, char *why, size_t why_bytes);
/* As ptx_wgmma_find, and fills `sig` with the permitted operands, like ptx_rules_match. `sig` is
 * open for sparse forms. */
bool ptx_wgmma_match(const char *text, struct ptx_sig *sig, char *why, size_t why_bytes);

#endif
