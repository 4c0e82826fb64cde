/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma: products of matrices by four warps together, of which b, and mostly a, lies in shared
 * memory. Each of the four has 16 rows of a and of the sum, so that it is a row of mma's side by
 * side. Source: "Parallel Thread Execution ISA", "Asynchronous Warpgroup Level Matrix
 * Instructions".
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_WGMMA_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_WGMMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_rules.h"

#define PTX_WGMMA_A_REGS 4 /* of a lane, where a is in registers */

enum ptx_wgmma_verb {
    PTX_WGMMA_FENCE,
    PTX_WGMMA_COMMIT,
    PTX_WGMMA_WAIT,
    PTX_WGMMA_MULTIPLY,
    PTX_WGMMA_SPARSE,
};

struct ptx_wgmma {
    uint8_t verb;     /* enum ptx_wgmma_verb; the others are of a product */
    uint8_t sum_regs; /* of a lane */
    uint8_t sum_type; /* enum ptx_type of these */
    uint16_t n;       /* columns of b and of the sum */
    bool negates;     /* has factors 1 or -1 of a and b */
    bool turns;       /* says whether a and b are stored by the other dimension */
    uint32_t signs;   /* those of a's elements in a register */
    char mma[72];     /* what it is made of: 16 rows, 8 columns */
};

/* Holds `text` against the forms of wgmma; false with `why` filled. */
bool ptx_wgmma_find(const char *text, struct ptx_wgmma *out, char *why, size_t why_bytes);
/* The same, and what its operands may be: as ptx_rules_match; open where it is sparse. */
bool ptx_wgmma_match(const char *text, struct ptx_sig *sig, char *why, size_t why_bytes);

#endif
