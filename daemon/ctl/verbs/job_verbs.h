/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs that change a job, or wait for its end, and print a line about it. Each returns an exit
 * status.
 */
#ifndef DAEMON_CTL_VERBS_JOB_VERBS_H
#define DAEMON_CTL_VERBS_JOB_VERBS_H

#include "daemon/ctl/cli/cli.h"

int job_verbs_set(struct cli *c, int argc, char **argv);
int job_verbs_pause(struct cli *c, int argc, char **argv);
int job_verbs_resume(struct cli *c, int argc, char **argv);
int job_verbs_kill(struct cli *c, int argc, char **argv);
int job_verbs_wait(struct cli *c, int argc, char **argv);

#endif
