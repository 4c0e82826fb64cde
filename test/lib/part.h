/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of random cases that a test tries: all, or the part that SALUS_TEST_PART sets. Under
 * sanitizers, where each case takes ten times as long, check-asan tries a quarter of them;
 * check-long-asan tries all.
 */
#ifndef TEST_LIB_PART_H
#define TEST_LIB_PART_H

#include <stdint.h>

/* Returns `usual` divided by SALUS_TEST_PART, at least one. */
uint32_t part_of(uint32_t usual);

#endif
