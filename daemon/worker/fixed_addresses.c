/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker/fixed_addresses.h"

#include <limits.h>
#include <sys/personality.h>
#include <unistd.h>

#include "common/log.h"

#define ASK 0xfffffffful /* reads the personality and changes nothing */

/* Executes the program by its path, so that process lists show the path. */
static void again(char **argv) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0) return;
    path[n] = '\0';
    execv(path, argv);
}

void fixed_addresses_begin(char **argv) {
    int now = personality(ASK);
    if (now >= 0 && now & ADDR_NO_RANDOMIZE) return;
    if (now >= 0 && personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0) again(argv);
    log_warn("worker", "event=random-addresses text=\"address space randomization is on: jobs "
                       "whose modules have variables end with this worker\"");
}
