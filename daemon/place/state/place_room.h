/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow before a step changes anything, so that a step without memory is none.
 *
 * Owner: none. Thread: any.
 */
#ifndef DAEMON_PLACE_STATE_PLACE_ROOM_H
#define DAEMON_PLACE_STATE_PLACE_ROOM_H

#include <stddef.h>
#include <stdint.h>

/* Room in an array of `capacity` things of `size` for `want` of them: the array, which may lie
 * elsewhere now. Without memory *err is -ENOMEM and the array as it was; an error before is an
 * error still, and nothing is done. */
void *place_room_for(void *array, uint32_t *capacity, uint64_t want, size_t size, int *err);

#endif
