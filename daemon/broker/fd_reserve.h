/* SPDX-License-Identifier: Apache-2.0
 *
 * The last descriptors of this process, which the broker keeps for itself and gives to no client.
 * Those before them are not used for device memory.
 */
#ifndef DAEMON_BROKER_FD_RESERVE_H
#define DAEMON_BROKER_FD_RESERVE_H

#include <stdbool.h>

/* True if a new descriptor is one of the last. With `operators` only half of them count, because
 * operators' connections may use the others. */
bool fd_reserve_fd(int fd, bool operators);

/* True if a descriptor is in the last quarter, which device memory leaves to clients. Both
 * functions return false if the number of descriptors has no limit. */
bool fd_reserve_for_memory(int fd);

/* The error message when one of the functions above returns true. */
#define FD_RESERVE_TEXT \
    "salusd has no file descriptors left; raise LimitNOFILE of its unit, or 'ulimit -Hn'"

#endif
