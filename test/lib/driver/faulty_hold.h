/* SPDX-License-Identifier: Apache-2.0
 *
 * Stalls streams for a while: a stream wait of the driver for a value that a thread writes later.
 * The first stall starts the thread. Work that the caller submits to the stream next comes after
 * the wait. Threads: any.
 */
#ifndef TEST_LIB_DRIVER_FAULTY_HOLD_H
#define TEST_LIB_DRIVER_FAULTY_HOLD_H

#include <stdint.h>

/* `library`: the driver, from dlopen. Ends the process if the driver has no waits for values.
 * Does nothing if this wait fails or the table of stalled streams is full. */
void faulty_hold(void *library, void *stream, uint32_t us) __attribute__((visibility("hidden")));

#endif
