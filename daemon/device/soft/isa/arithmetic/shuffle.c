/* SPDX-License-Identifier: Apache-2.0
 *
 * shfl among all lanes of a warp that arrive at once; exec/rendezvous.c does the other cases. A
 * lane whose source is out of range gets its own value; the predicate is true where the source is
 * in range.
 */
#include <string.h>

#include "daemon/device/soft/isa/arithmetic/isa.h"

/* `j` is the lane from which lane l with operand n reads, and `ok` says whether j is in range. */
#define SHUFFLE(name, j, ok)                                                       \
    ISA_HANDLER(read_##name) {                                                     \
        uint32_t a[WARP_LANES], in[WARP_LANES], yes = 0;                           \
        uint32_t *d = SLOT(uint32_t, w, i->d);                                     \
        const uint32_t *b = SLOT(const uint32_t, w, i->b);                         \
        const uint32_t *c = SLOT(const uint32_t, w, i->c);                         \
        memcpy(a, SLOT(const uint32_t, w, i->a), sizeof(a));                       \
        ISA_INDEPENDENT for (unsigned l = 0; l < WARP_LANES; l++) {                \
            const uint32_t n = b[l] & 31, segment = c[l] >> 8 & 31;                \
            const uint32_t low = l & segment, high = low | (c[l] & ~segment & 31); \
            const uint32_t from = (j);                                             \
            in[l] = (ok);                                                          \
            d[l] = a[(in[l] ? from : l) & 31];                                     \
        }                                                                          \
        for (unsigned l = 0; l < WARP_LANES; l++)                                  \
            yes |= in[l] << l;                                                     \
        if (i->d2 != CODE_NO_SLOT) *SLOT(uint32_t, w, i->d2) = yes & mask;         \
    }
SHUFFLE(up, l - n, (int32_t)from >= (int32_t)high)
SHUFFLE(down, l + n, from <= high)
SHUFFLE(bfly, l ^ n, from <= high)
SHUFFLE(idx, low | (n & ~segment), from <= high)

ISA_FAMILY(shuffle_select) {
    switch (i->sub) {
    case PTX_SUB_UP: return read_up;
    case PTX_SUB_DOWN: return read_down;
    case PTX_SUB_BFLY: return read_bfly;
    default: return read_idx;
    }
}
