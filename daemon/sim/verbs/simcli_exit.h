/* SPDX-License-Identifier: Apache-2.0
 *
 * Exit statuses of salus-sim.
 */
#ifndef DAEMON_SIM_VERBS_SIMCLI_EXIT_H
#define DAEMON_SIM_VERBS_SIMCLI_EXIT_H

enum simcli_exit {
    SIMCLI_OK = 0,
    SIMCLI_FAILED = 1,
    SIMCLI_USAGE = 2,
    SIMCLI_WORKLOAD = 3, /* the file has errors */
    SIMCLI_BROKEN = 4,   /* the scheduler broke a rule or differs from the recording */
};

#endif
