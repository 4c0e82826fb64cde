/* SPDX-License-Identifier: Apache-2.0
 *
 * Random functions in PTX, with a model of their own: registers of every width and predicates, each
 * short-lived, in control flow that goes anywhere (branches, jump tables, exits, calls), with
 * guarded writes, vectors, pairs of destinations and sinks. The model runs one lane at a time on
 * registers that are never shared, so that it knows nothing of slots, masks and splits. A program
 * reads no register before every path to it has written one; every loop ends.
 */
#ifndef TEST_LIB_PTXRANDOM_H
#define TEST_LIB_PTXRANDOM_H

#include <stddef.h>
#include <stdint.h>

#define PTXRANDOM_LANE_BYTES 256 /* memory of one lane, and its alignment */
#define PTXRANDOM_TEXT 65536

struct ptxrandom;
struct ptxrandom *ptxrandom_create(void);
void ptxrandom_destroy(struct ptxrandom *p);
/* Makes program `seed`: its kernel is main(u64 memory), for one block of up to 32 threads, where
 * lane l owns the bytes from memory + l * PTXRANDOM_LANE_BYTES on. The text lives in `p`. */
const char *ptxrandom_make(struct ptxrandom *p, uint32_t seed);
/* Applies the program of `lane` to the lane's bytes. */
void ptxrandom_run(const struct ptxrandom *p, uint32_t lane,
                   unsigned char memory[PTXRANDOM_LANE_BYTES]);

#endif
