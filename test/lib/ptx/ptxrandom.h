/* SPDX-License-Identifier: Apache-2.0
 *
 * Random functions in PTX, with a model. The functions use registers of every width and predicates,
 * each with a short lifetime. Control flow is arbitrary: branches, jump tables, exits, calls.
 * Writes may be guarded, and there are vectors, pairs of destinations and discarded results.
 *
 * The model runs one lane at a time on registers that are never shared, so it is independent of
 * register slots, masks and divergence. A program reads no register before every path to it has
 * written one; every loop ends.
 */
#ifndef TEST_LIB_PTXRANDOM_H
#define TEST_LIB_PTXRANDOM_H

#include <stddef.h>
#include <stdint.h>

#define PTXRANDOM_LANE_BYTES 256 /* bytes of memory of one lane, and their alignment */
#define PTXRANDOM_TEXT 65536

struct ptxrandom;
struct ptxrandom *ptxrandom_create(void);
void ptxrandom_destroy(struct ptxrandom *p);
/* Makes program `seed`: its kernel is main(u64 memory), for one block of up to 32 threads. Lane
 * l owns PTXRANDOM_LANE_BYTES bytes at memory + l * PTXRANDOM_LANE_BYTES. The text is part of
 * `p`. */
const char *ptxrandom_make(struct ptxrandom *p, uint32_t seed);
/* Runs the model of `lane` on the lane's bytes. */
void ptxrandom_run(const struct ptxrandom *p, uint32_t lane,
                   unsigned char memory[PTXRANDOM_LANE_BYTES]);

#endif
