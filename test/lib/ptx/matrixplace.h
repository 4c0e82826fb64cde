/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions of the elements of mma's fragments: row and column of element `i` of a lane. Written
 * independently of the device, shape by shape, from "Parallel Thread Execution ISA", "Matrix
 * Fragments for mma". For tests in C, and for the host model of random programs in C++.
 */
#ifndef TEST_LIB_MATRIXPLACE_H
#define TEST_LIB_MATRIXPLACE_H

struct spot {
    unsigned row, col;
};

#define PLACE(name, r, c)                                       \
    static inline struct spot name(unsigned lane, unsigned i) { \
        const unsigned g = lane >> 2, t = lane % 4;             \
        (void)g, (void)t, (void)i;                              \
        const struct spot at = {(r), (c)};                      \
        return at;                                              \
    }

PLACE(a_f16_8, i < 2 ? g : g + 8, t * 2 + (i & 1))
PLACE(b_f16_8, t * 2 + i, g)
PLACE(a_f16_16, i < 2 || (i >= 4 && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0))
PLACE(b_f16_16, t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g)
PLACE(a_tf32_4, i == 0 ? g : g + 8, t)
PLACE(b_tf32_4, t, g)
PLACE(a_tf32_8, i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4)
PLACE(b_tf32_8, i == 0 ? t : t + 4, g)
PLACE(a_f64_8x4, g, t)
PLACE(a_f64_16, i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t)
PLACE(b_f64_16, t + i * 4, g)
PLACE(a_s8_8x16, g, t * 4 + i)
PLACE(b_s8_16, t * 4 + i, g)
PLACE(a_s8_16x16, i < 4 ? g : g + 8, t * 4 + (i & 3))
PLACE(a_s8_32, i < 4 || (i >= 8 && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0))
PLACE(b_s8_32, t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g)
PLACE(b_f16_32, t * 2 + (i & 1) + i / 2 * 8, g)
PLACE(b_tf32_16, t + 4 * i, g)
PLACE(b_s8_64, t * 4 + (i & 3) + i / 4 * 16, g)
PLACE(b_s4_128, t * 8 + (i & 7) + i / 8 * 32, g)
PLACE(a_s4_8x32, g, t * 8 + i)
PLACE(b_s4_32, t * 8 + i, g)
PLACE(a_s4_16x32, i < 8 ? g : g + 8, t * 8 + (i & 7))
PLACE(a_s4_64, i < 8 || (i >= 16 && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i >= 16 ? 32 : 0))
PLACE(b_s4_64, t * 8 + (i & 7) + (i >= 8 ? 32 : 0), g)
PLACE(a_b1_8x128, g, t * 32 + i)
PLACE(b_b1_128, t * 32 + i, g)
PLACE(a_b1_16x128, i < 32 ? g : g + 8, t * 32 + (i & 31))
PLACE(a_b1_256, i < 32 || (i >= 64 && i < 96) ? g : g + 8, t * 32 + (i & 31) + (i >= 64 ? 128 : 0))
PLACE(b_b1_256, t * 32 + (i & 31) + (i >= 32 ? 128 : 0), g)
PLACE(c_16, i < 2 ? g : g + 8, t * 2 + (i & 1))
PLACE(c_8, g, t * 2 + (i & 1))
/* m8n8k4 of f16: lanes 4q to 4q + 3 and lanes 16 above them hold product q. */
PLACE(quad_a_row, lane % 4 + (lane < 16 ? 0 : 4), i)
PLACE(quad_a_col, i + (lane < 16 ? 0 : 4), lane % 4)
PLACE(quad_b_row, lane % 4, i + (lane < 16 ? 0 : 4))
PLACE(quad_b_col, i, lane % 4 + (lane < 16 ? 0 : 4))
PLACE(quad_f16, lane % 4 + (lane < 16 ? 0 : 4), i)
PLACE(quad_f32, (lane & 1) + (i & 2) + (lane < 16 ? 0 : 4), (i & 4) + (lane & 2) + (i & 1))

#endif
