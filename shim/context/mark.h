/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks tell the worker where iterations begin and where the program has waited; the scheduler uses
 * both. The device's time comes back from the worker. Any thread. All calls are harmless before
 * there is a connection.
 */
#ifndef SHIM_CONTEXT_MARK_H
#define SHIM_CONTEXT_MARK_H

/* Marks the beginning of an iteration, on the program's request. */
void mark_iteration(void);

/* Marks that the program has waited for the device. Sent when no stream has queued work, once after
 * launches: further waits say nothing new. Never wakes the worker. */
void mark_idle(void);

#endif
