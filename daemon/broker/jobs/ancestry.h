/* SPDX-License-Identifier: Apache-2.0
 *
 * From which processes one descends, by the kernel's word (/proc). A number may be another
 * process's by the time it is used: it is good for what the user could claim anyway, such as that
 * two of his jobs belong together.
 *
 * Thread: any.
 */
#ifndef DAEMON_BROKER_JOBS_ANCESTRY_H
#define DAEMON_BROKER_JOBS_ANCESTRY_H

#include <stdbool.h>
#include <sys/types.h>

#define ANCESTRY_MOST 32 /* generations that are looked at */

struct ancestry {
    pid_t pids[ANCESTRY_MOST]; /* the parent, its parent and so on, without the first process */
    int count;
};

void ancestry_read(pid_t pid, struct ancestry *out);
bool ancestry_has(const struct ancestry *ancestry, pid_t pid);

/* The parent in the text of /proc/PID/stat; 0: there is none, or the text is not such a one. */
pid_t ancestry_parent(const char *stat);

#endif
