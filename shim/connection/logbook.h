/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's own log, which programs read by cuLogs*. It has one line for each refusal, the
 * latest LOGBOOK_ENTRIES. Any thread.
 */
#ifndef SHIM_CONNECTION_LOGBOOK_H
#define SHIM_CONNECTION_LOGBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

#define LOGBOOK_ENTRIES 100u
#define LOGBOOK_LINE 256u /* bytes of a line, with its newline */
#define LOGBOOK_CALLBACKS 64u

/* Adds a line, formatted as by printf, without a newline; a long line is cut. logbook_deliver
 * passes it to the callbacks. */
void logbook_add(CUlogLevel level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Calls every callback for each entry that it has not got yet. The caller holds no lock: a
 * program's callback may wait for another thread that is in a call. */
void logbook_deliver(void);

/* Numbers of entries, counted from 0: the next entry, and the oldest that is stored. */
uint32_t logbook_next(void);
uint32_t logbook_oldest(void);

/* Copies the line of this entry, with its newline. False when it was overwritten or does not exist
 * yet. */
bool logbook_line(uint32_t entry, char line[LOGBOOK_LINE], size_t *bytes);

/* Registers a callback and returns its number; 0 when LOGBOOK_CALLBACKS are registered.
 * logbook_unregister returns false for an unknown number. */
uint32_t logbook_register(CUlogsCallback function, void *data);
bool logbook_unregister(uint32_t callback);

#endif
