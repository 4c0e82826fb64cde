/* SPDX-License-Identifier: Apache-2.0
 *
 * What `salusctl doctor` looks at, a file a part. They only look: nothing is changed, and no code
 * of others is run.
 */
#ifndef DAEMON_CTL_CHECKS_H
#define DAEMON_CTL_CHECKS_H

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/doctor/findings.h"

/* Both sockets, versions, the worker, the device. Whether the software GPU is what a program gets:
 * of the daemon, or for want of one of a private one. */
bool checks_daemon(const struct cli *c, struct findings *f);

/* Our libcuda.so.1, others, and what could come before it. */
void checks_library(struct findings *f);

/* Limits and calls of the kernel that a job needs. */
void checks_system(struct findings *f);

/* Frameworks of the Python that would be run, by the names of their folders. */
void checks_python(struct findings *f);

/* What `run` would set for frameworks. */
void checks_frameworks(struct findings *f, bool soft);

#endif
