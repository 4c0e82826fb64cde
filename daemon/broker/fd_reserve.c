/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel assigns the lowest free number, so a number near the limit shows that few are left.
 */
#include "daemon/broker/fd_reserve.h"

#include <sys/resource.h>

#define KEEP_FDS                                                                     \
    64 /* descriptors reserved for ourselves; an eighth of the limit if that is less \
        */

bool fd_reserve_fd(int fd, bool operators) {
    struct rlimit limit = {0};
    rlim_t keep;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    keep = limit.rlim_cur / 8 < KEEP_FDS ? limit.rlim_cur / 8 : KEEP_FDS;
    if (operators) keep /= 2;
    return (rlim_t)fd + keep >= limit.rlim_cur;
}

bool fd_reserve_for_memory(int fd) {
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    return (rlim_t)fd >= limit.rlim_cur / 4 * 3;
}
