/* SPDX-License-Identifier: Apache-2.0
 *
 * SLOTS_MAX functions that differ in a number, and the slot of each number.
 */
#include "shim/private/slots.h"

#include <stdint.h>

#include "common/atomics.h"
#include "shim/connection/refusals.h"
#include "shim/connection/refuse.h"

static struct {
    const unsigned char *uuid;
    unsigned int slot;
    _Atomic uint32_t said;
} slots[SLOTS_MAX];
static unsigned int slot_count;

static CUresult called(unsigned int n, const void *caller) {
    char name[REFUSE_SLOT_BYTES];
    refuse_slot_name(slots[n].uuid, slots[n].slot, name);
    refusals_note("call", name, caller, 0, "", 0);
    return atom_exchange(&slots[n].said, 1) ? CUDA_ERROR_NOT_SUPPORTED : refuse_call(name);
}

/* clang-format off */
#define ROW(X, h) X(h##0) X(h##1) X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7) \
                  X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e) X(h##f)
#define EACH(X) ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7) \
                ROW(X, 8) ROW(X, 9) ROW(X, a) ROW(X, b) ROW(X, c) ROW(X, d) ROW(X, e) ROW(X, f) \
                ROW(X, 10) ROW(X, 11) ROW(X, 12) ROW(X, 13) ROW(X, 14)
/* clang-format on */

/* Callers pass arguments that these functions ignore. */
#define FUNCTION(n)                                        \
    static CUresult slot_##n(void) {                       \
        return called(0x##n, __builtin_return_address(0)); \
    }
EACH(FUNCTION)

#define NAME(n) slot_##n,
static CUresult (*const functions[])(void) = {EACH(NAME)};
_Static_assert(sizeof(functions) / sizeof(functions[0]) == SLOTS_MAX, "one a number");

void slots_fill(const unsigned char *uuid, const void **table, unsigned int count) {
    for (unsigned int i = 0; i < count && slot_count < SLOTS_MAX; i++) {
        if (table[i]) continue;
        slots[slot_count].uuid = uuid;
        slots[slot_count].slot = i;
        table[i] = (const void *)functions[slot_count++];
    }
}
