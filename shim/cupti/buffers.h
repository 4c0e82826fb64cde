/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's buffers, which its callbacks provide and take back. The callbacks are called with
 * no lock held. Any thread.
 */
#ifndef SHIM_CUPTI_BUFFERS_H
#define SHIM_CUPTI_BUFFERS_H

#include <stdbool.h>

#include "shim/cupti/cupti.h"

void buffers_register(cupti_requested requested, cupti_completed completed);
bool buffers_registered(void);

/* Copies the record into a buffer. A record without a buffer is counted as dropped. */
void buffers_put(const void *record, size_t bytes);
/* Returns the current buffer to the program, if it holds a record. */
void buffers_flush(void);

/* Returns how many records were dropped since the last call. */
uint64_t buffers_dropped(void);

/* Moves *at to the record that follows it (NULL: to the first one). False: there is none, or the
 * bytes are not a record that this library writes. */
bool buffers_next(uint8_t *buffer, size_t valid, uint8_t **at);

#endif
