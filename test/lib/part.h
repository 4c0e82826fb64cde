/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a search at random: all of it, or the part of it that SALUS_TEST_PART says. Under
 * sanitizers, where each world takes ten times as long, a quarter of them is tried (check-asan);
 * check-long-asan tries all.
 */
#ifndef TEST_LIB_PART_H
#define TEST_LIB_PART_H

#include <stdint.h>

/* `usual` over what SALUS_TEST_PART says, one at least. */
uint32_t part_of(uint32_t usual);

#endif
