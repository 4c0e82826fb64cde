/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the handler files: names that differ in each of the three builds (-DISA=base|v3|v4),
 * and the loops over the lanes. Handlers are stateless and may run on any thread.
 *
 * Every handler has two loops: one for the full mask, which the compiler vectorises, and one that
 * preserves the lanes outside the mask. Both must give the same bits in every build; therefore NaN
 * results are made canonical (REAL_NAN32, REAL_NAN64, HALF_NAN).
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_ISA_H
#define DAEMON_DEVICE_SOFT_ISA_ARITHMETIC_ISA_H

#include <stdint.h>
#include <string.h>

#include "daemon/device/soft/code/code.h"

#define ISA_JOIN2(a, b) a##_##b
#define ISA_JOIN(a, b) ISA_JOIN2(a, b)
#define ISA_FN(name) ISA_JOIN(name, ISA)

/* The tables of the three builds, for select.c. */
code_handler *table_select_base(const struct code_inst *i);
code_handler *table_select_v3(const struct code_inst *i);
code_handler *table_select_v4(const struct code_inst *i);

#define ISA_FULL 0xffffffffu

/* Tells the compiler that no lane depends on another: a destination overlaps a source only lane by
 * lane. */
#ifdef __clang__
/* Some loops stay scalar, which is fine. Logical operators would branch and keep other loops from
 * being vectorised. */
#pragma clang diagnostic ignored "-Wpass-failed"
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#define ISA_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ISA_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Computes `v` of type `td` in each lane `l` by the given statements, and stores it in d[l]. The
 * loop for a partial mask computes every lane and keeps the old value where the mask has no bit. */
#define ISA_LANES(mask, td, d, ...)                                     \
    do {                                                                \
        if ((mask) == ISA_FULL) {                                       \
            ISA_INDEPENDENT for (unsigned l = 0; l < WARP_LANES; l++) { \
                td v;                                                   \
                __VA_ARGS__(d)[l] = v;                                  \
            }                                                           \
        } else {                                                        \
            ISA_INDEPENDENT for (unsigned l = 0; l < WARP_LANES; l++) { \
                td v;                                                   \
                __VA_ARGS__(d)[l] = (mask) >> l & 1 ? v : (d)[l];       \
            }                                                           \
        }                                                               \
    } while (0)

/* As ISA_LANES, for costly operations: visits only the lanes of the mask. */
#define ISA_EACH(mask, td, d, ...)                         \
    for (uint32_t left = (mask); left; left &= left - 1) { \
        const unsigned l = (unsigned)__builtin_ctz(left);  \
        td v;                                              \
        __VA_ARGS__(d)[l] = v;                             \
    }

#define ISA_HANDLER(name) static void name(struct warp *w, const struct code_inst *i, uint32_t mask)

/* Define handlers with one, two or three sources x, y, z. `loop` is ISA_LANES or ISA_EACH. */
#define ISA_OP1(loop, name, td, ta, expr)                      \
    ISA_HANDLER(name) {                                        \
        td *d = SLOT(td, w, i->d);                             \
        const ta *a = SLOT(const ta, w, i->a);                 \
        loop(mask, td, d, const ta x = a[l]; v = (td)(expr);); \
    }
#define ISA_OP2(loop, name, td, ta, tb, expr)                                     \
    ISA_HANDLER(name) {                                                           \
        td *d = SLOT(td, w, i->d);                                                \
        const ta *a = SLOT(const ta, w, i->a);                                    \
        const tb *b = SLOT(const tb, w, i->b);                                    \
        loop(mask, td, d, const ta x = a[l]; const tb y = b[l]; v = (td)(expr);); \
    }
#define ISA_OP3(loop, name, td, ta, tb, tc, expr)                                  \
    ISA_HANDLER(name) {                                                            \
        td *d = SLOT(td, w, i->d);                                                 \
        const ta *a = SLOT(const ta, w, i->a);                                     \
        const tb *b = SLOT(const tb, w, i->b);                                     \
        const tc *c = SLOT(const tc, w, i->c);                                     \
        loop(mask, td, d, const ta x = a[l]; const tb y = b[l]; const tc z = c[l]; \
             v = (td)(expr););                                                     \
    }

/* True for a load that may be polling for a value of another thread. */
static inline bool isa_waits(const struct code_inst *i) {
    return i->src && (strstr(i->src->text, ".volatile") || strstr(i->src->text, ".acquire") ||
                      strstr(i->src->text, ".relaxed"));
}

/* Declares the select function of a family, which returns the handler for an instruction or NULL.
 * Each family has a file. */
#define ISA_FAMILY(name) code_handler *ISA_FN(name)(const struct code_inst *i)
ISA_FAMILY(approx_select);
ISA_FAMILY(bits_select);
ISA_FAMILY(carry_select);
ISA_FAMILY(compare_select);
ISA_FAMILY(convert_select);
ISA_FAMILY(copy_select);
ISA_FAMILY(directed_select);
ISA_FAMILY(divide_select);
ISA_FAMILY(half_select);
ISA_FAMILY(integer_select);
ISA_FAMILY(logic_select);
ISA_FAMILY(matrix_select);
ISA_FAMILY(packed_select);
ISA_FAMILY(pair_select);
ISA_FAMILY(real_select);
ISA_FAMILY(shuffle_select);
ISA_FAMILY(small_select);
ISA_FAMILY(stochastic_select);
ISA_FAMILY(tile_select);
ISA_FAMILY(vector_select);
ISA_FAMILY(video_select);

#endif
