/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's buffers, which are asked for and given back by its functions. These are called with
 * no lock held. Any thread.
 */
#ifndef SHIM_CUPTI_BUFFERS_H
#define SHIM_CUPTI_BUFFERS_H

#include <stdbool.h>

#include "shim/cupti/cupti.h"

void buffers_register(cupti_requested requested, cupti_completed completed);
bool buffers_registered(void);

/* Copies the record into a buffer. One that no buffer takes is counted. */
void buffers_put(const void *record, size_t bytes);
/* Gives back the buffer that is being filled, if there is a record in it. */
void buffers_flush(void);

/* Records since the last call for which there was no buffer. */
uint64_t buffers_dropped(void);

/* The record at *at (NULL: the first one) is followed by another one: *at becomes it. False: there
 * is none, or what stands there is no record of ours. */
bool buffers_next(uint8_t *buffer, size_t valid, uint8_t **at);

#endif
