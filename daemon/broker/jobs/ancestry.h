/* SPDX-License-Identifier: Apache-2.0
 *
 * The ancestors of a process, from /proc. A process number may be reused before it is read. That is
 * harmless, because the result only supports claims that the user could make anyway, such as that
 * two of their jobs belong together.
 *
 * Thread: any.
 */
#ifndef DAEMON_BROKER_JOBS_ANCESTRY_H
#define DAEMON_BROKER_JOBS_ANCESTRY_H

#include <stdbool.h>
#include <sys/types.h>

#define ANCESTRY_MOST 32 /* largest number of generations */

struct ancestry {
    pid_t pids[ANCESTRY_MOST]; /* the parent, its parent and so on, without the init process */
    int count;
};

void ancestry_read(pid_t pid, struct ancestry *out);
bool ancestry_has(const struct ancestry *ancestry, pid_t pid);

/* Returns the parent from the text of /proc/PID/stat; 0: there is none, or the text is invalid. */
pid_t ancestry_parent(const char *stat);

#endif
