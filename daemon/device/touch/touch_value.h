/* SPDX-License-Identifier: Apache-2.0
 *
 * The possible values of a register, in any thread of a launch: a range of numbers on the circle of
 * its width, so that arithmetic wraps and signs do not matter. Pure functions; `bits` is the width,
 * 1 to 64. Results contain all possible values, and maybe more.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_VALUE_H
#define DAEMON_DEVICE_TOUCH_TOUCH_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct touch_value {
    uint64_t lo, len; /* lo, lo + 1 to lo + len; len + 1 numbers below 2^bits */
    /* The value is this variable's address plus the number; NULL: just the number. */
    const struct ptx_var *var;
    uint32_t id;  /* registers of a state with the same id hold the same value; 0: unknown */
    bool tainted; /* it may differ when the launch is repeated */
    /* A variable's address as a generic address: the number may differ too, but the memory there is
     * the same. */
    bool generic;
};

/* The range in one signedness: the smallest one that does not wrap there. */
struct touch_unsigned {
    uint64_t lo, hi;
};
struct touch_signed {
    int64_t lo, hi;
};

static inline uint64_t touch_mask(uint32_t bits) {
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

struct touch_value touch_any(uint32_t bits);
struct touch_value touch_number(uint64_t number, uint32_t bits);
/* lo to hi, with hi - lo < 2^bits; else any number. */
struct touch_value touch_range(__int128 lo, __int128 hi, uint32_t bits);

static inline bool touch_is_number(const struct touch_value *v) {
    return !v->len && !v->var;
}
struct touch_unsigned touch_as_unsigned(const struct touch_value *v, uint32_t bits);
struct touch_signed touch_as_signed(const struct touch_value *v, uint32_t bits);

/* The low bits of a wider value. */
struct touch_value touch_low(const struct touch_value *v, uint32_t bits);
struct touch_value touch_extend(const struct touch_value *v, uint32_t from, uint32_t to,
                                bool is_signed);

/* The functions below keep the taint of either operand; only sums can be addresses of variables. */
struct touch_value touch_add(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits);
struct touch_value touch_sub(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits);
struct touch_value touch_mul(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits);
/* All 2 * bits of the product; bits <= 32. */
struct touch_value touch_mul_wide(const struct touch_value *a, const struct touch_value *b,
                                  uint32_t bits, bool is_signed);
struct touch_value touch_mul_high(const struct touch_value *a, const struct touch_value *b,
                                  uint32_t bits, bool is_signed);
struct touch_value touch_shl(const struct touch_value *a, const struct touch_value *by,
                             uint32_t bits);
struct touch_value touch_shr(const struct touch_value *a, const struct touch_value *by,
                             uint32_t bits, bool is_signed);
struct touch_value touch_and(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits);
struct touch_value touch_or(const struct touch_value *a, const struct touch_value *b,
                            uint32_t bits);
struct touch_value touch_xor(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits);
struct touch_value touch_min(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed);
struct touch_value touch_max(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed);
struct touch_value touch_div(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed);
struct touch_value touch_rem(const struct touch_value *a, const struct touch_value *b,
                             uint32_t bits, bool is_signed);

/* The smallest range with both. Its id is that of both, or 0. */
struct touch_value touch_either(const struct touch_value *a, const struct touch_value *b,
                                uint32_t bits);
/* True when a contains all of b. */
bool touch_holds(const struct touch_value *a, const struct touch_value *b, uint32_t bits);
/* Narrows `v` to lo to lo + len. False: nothing is left. */
bool touch_meet(struct touch_value *v, uint64_t lo, uint64_t len, uint32_t bits);

#endif
