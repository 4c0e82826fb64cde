/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a recorded event is a (stream, sequence) pair, so asking for it is a load.
 */
#ifndef SHIM_API_EVENT_H
#define SHIM_API_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

/* An id for records that only mark a place in a stream; no program has it. */
#define EVENT_MARKER (WIRE_EVENTS - 1)

/* Where the event was last recorded; seq 0 when it never was. False for what is no event. */
bool event_point(CUevent handle, uint32_t *stream, uint64_t *seq);

/* The context ended: its events end with it. */
void event_release(uint32_t owner);

#endif
