/* SPDX-License-Identifier: Apache-2.0
 *
 * What a register may hold, for any thread of a launch: a run of numbers on the circle of its
 * width, so that arithmetic that wraps and numbers of either sign are the same thing. Pure
 * functions; `bits` is the width, 1 to 64. Results hold all that can come out; maybe more.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_VALUE_H
#define DAEMON_DEVICE_TOUCH_TOUCH_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct touch_value {
    uint64_t lo, len; /* lo, lo + 1 to lo + len; len + 1 numbers below 2^bits */
    /* It is the address of this variable and so much more; NULL: it is the number. */
    const struct ptx_var *var;
    uint32_t id;  /* registers of a state with the same one hold the same; 0: not known */
    bool tainted; /* it may be another one if the launch is done again */
    /* The address of a variable as numbers of all memory go: that may be another one, too; what is
     * there is the same. */
    bool generic;
};

/* Of one sign: the least run that does not wrap there. */
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
/* lo to hi, with hi - lo < 2^bits; else any. */
struct touch_value touch_range(__int128 lo, __int128 hi, uint32_t bits);

static inline bool touch_is_number(const struct touch_value *v) {
    return !v->len && !v->var;
}
struct touch_unsigned touch_as_unsigned(const struct touch_value *v, uint32_t bits);
struct touch_signed touch_as_signed(const struct touch_value *v, uint32_t bits);

/* The low bits of one that is wider. */
struct touch_value touch_low(const struct touch_value *v, uint32_t bits);
struct touch_value touch_extend(const struct touch_value *v, uint32_t from, uint32_t to,
                                bool is_signed);

/* All that follow keep `tainted` of either, and are addresses of variables only as sums. */
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

/* Either of the two. Its id is that of both, or 0. */
struct touch_value touch_either(const struct touch_value *a, const struct touch_value *b,
                                uint32_t bits);
/* All of b is in a. */
bool touch_holds(const struct touch_value *a, const struct touch_value *b, uint32_t bits);
/* What of `v` is among lo to lo + len. False: nothing is. */
bool touch_meet(struct touch_value *v, uint64_t lo, uint64_t len, uint32_t bits);

#endif
