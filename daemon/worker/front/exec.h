/* SPDX-License-Identifier: Apache-2.0
 *
 * One handler for each kind of record: is everything it names the client's own, and what follows.
 */
#ifndef DAEMON_WORKER_FRONT_EXEC_H
#define DAEMON_WORKER_FRONT_EXEC_H

#include <stddef.h>
#include <stdint.h>

struct client;

/* `rec` is private memory and passed record_check. 0, or ERR_PROTOCOL with `why`: the client sent
 * what no honest one sends and must be expelled. Faults of an honest client are its own affair. */
int exec_record(struct client *c, const void *rec, uint32_t bytes, char *why, size_t why_bytes);

#endif
