/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs for instruction tests: edge values of every type, crossed, and random ones of several
 * shapes. A thread's input is the 64 bytes that the kernels of scripts/gen-alu-ptx read.
 */
#ifndef TEST_LIB_ALUCASES_H
#define TEST_LIB_ALUCASES_H

#include <stdint.h>

struct alucase {
    uint64_t a, b, c, e, old, unused[2], guard;
};

#define ALUCASES 8192 /* a multiple of 32 */

/* Fills `cases` with the same values at every call. In every other group of 32, all threads have
 * their guard set; the other groups have all kinds of masks. */
void alucases_fill(struct alucase *cases);

#endif
