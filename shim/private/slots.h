/* SPDX-License-Identifier: Apache-2.0
 *
 * Unused slots of private tables: each gets a function that knows its slot, so that its first call
 * can be logged.
 */
#ifndef SHIM_PRIVATE_SLOTS_H
#define SHIM_PRIVATE_SLOTS_H

#define SLOTS_MAX 336u /* in all tables together */

/* Fills the NULL slots of a table of `count` slots; `uuid` (16 bytes) and the table are static.
 * Called by one thread, before the tables are handed out. */
void slots_fill(const unsigned char *uuid, const void **table, unsigned int count);

#endif
