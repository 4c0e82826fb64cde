/* SPDX-License-Identifier: Apache-2.0
 *
 * The last descriptors of this process, which no client gets: the broker needs them for itself. And
 * those before them, which are no device's.
 */
#ifndef DAEMON_BROKER_SCARCE_H
#define DAEMON_BROKER_SCARCE_H

#include <stdbool.h>

/* Whether a descriptor that was just made is one of them. Operators' connections get some. */
bool scarce_fd(int fd, bool operators);

/* Whether it is one of the last quarter, which parts of a device's memory leave to clients. */
bool scarce_for_memory(int fd);

/* What to say then. */
#define SCARCE_TEXT "salusd has no descriptors left; raise LimitNOFILE of its unit, or 'ulimit -Hn'"

#endif
