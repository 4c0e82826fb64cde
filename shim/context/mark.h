/* SPDX-License-Identifier: Apache-2.0
 *
 * Where iterations begin and where the program has waited: told to the worker, which schedules by
 * it; and what it knows of the device's time. Any thread. All of it is harmless before there is a
 * connection.
 */
#ifndef SHIM_CONTEXT_MARK_H
#define SHIM_CONTEXT_MARK_H

/* The program says that an iteration begins. */
void mark_iteration(void);

/* The program has waited for the device. Told when nothing is queued in any stream, once after
 * launches: then waiting again says nothing new. Never wakes the worker. */
void mark_idle(void);

#endif
