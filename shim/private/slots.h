/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots of private tables that nobody fills: each gets a function that knows which it is, so that
 * the first call of it can be said.
 */
#ifndef SHIM_PRIVATE_SLOTS_H
#define SHIM_PRIVATE_SLOTS_H

#define SLOTS_MAX 336u /* of all tables together */

/* Fills what is NULL in a table of `count` slots; `uuid` (16 bytes) and the table are static. One
 * thread, before the tables are handed out. */
void slots_fill(const unsigned char *uuid, const void **table, unsigned int count);

#endif
