/* SPDX-License-Identifier: Apache-2.0
 *
 * The last descriptors of this process, which the broker keeps for itself and gives to no client.
 * Those before them are not used for device memory.
 */
#ifndef DAEMON_BROKER_SCARCE_H
#define DAEMON_BROKER_SCARCE_H

#include <stdbool.h>

/* A new descriptor is one of the last. Operators' connections may use some of them. */
bool scarce_fd(int fd, bool operators);

/* A descriptor is in the last quarter, which device memory leaves to clients. */
bool scarce_for_memory(int fd);

/* The error message when either is true. */
#define SCARCE_TEXT \
    "salusd has no file descriptors left; raise LimitNOFILE of its unit, or 'ulimit -Hn'"

#endif
