/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's own log, as programs read it by cuLogs*: what was refused, one line an entry, the
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

/* As printf, without a newline; cut to fit. Callbacks hear of it by logbook_deliver. */
void logbook_add(CUlogLevel level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Calls every callback for each entry that it has not heard of. With no lock held: a program's
 * callback may wait for another of its threads that is in a call. */
void logbook_deliver(void);

/* Numbers of entries, from 0: the next one's; and the oldest that is there. */
uint32_t logbook_next(void);
uint32_t logbook_oldest(void);

/* The line of this entry, with its newline; false when it is gone, or not there yet. */
bool logbook_line(uint32_t entry, char line[LOGBOOK_LINE], size_t *bytes);

/* 0 when there are too many; false for what is none. */
uint32_t logbook_register(CUlogsCallback function, void *data);
bool logbook_unregister(uint32_t callback);

#endif
