/* SPDX-License-Identifier: Apache-2.0
 *
 * Grows arrays before a step changes anything, so that a step that runs out of memory has no
 * effect.
 *
 * Owner: none. Thread: any.
 */
#ifndef DAEMON_PLACE_STATE_PLACE_GROWTH_H
#define DAEMON_PLACE_STATE_PLACE_GROWTH_H

#include <stddef.h>
#include <stdint.h>

/* Grows an array of elements of `size` bytes to at least `want`; returns the array, possibly moved.
 * If memory is short, sets *err to -ENOMEM and returns the array unchanged. If *err is already set,
 * does nothing. */
void *place_growth_for(void *array, uint32_t *capacity, uint64_t want, size_t size, int *err);

#endif
