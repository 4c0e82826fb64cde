/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams that stand for a while: a wait of the driver's own for a word that is written later, by a
 * thread that is started with the first. What the caller gives the stream next comes behind it.
 *
 * Threads: any.
 */
#ifndef TEST_LIB_DRIVER_FAULTY_HOLD_H
#define TEST_LIB_DRIVER_FAULTY_HOLD_H

#include <stdint.h>

/* `library`: the driver, of dlopen. Nothing where it cannot, or so many streams stand already. */
void faulty_hold(void *library, void *stream, uint32_t us) __attribute__((visibility("hidden")));

#endif
