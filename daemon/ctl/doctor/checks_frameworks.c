/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the plan of frameworks.h without applying it.
 */
#include "daemon/ctl/doctor/checks_frameworks.h"

#include "daemon/ctl/environment/frameworks.h"

void checks_frameworks(struct findings *f, bool soft) {
    static struct frameworks_setting settings[FRAMEWORKS_MAX];
    struct frameworks_choice choice = {false, soft};
    int count = frameworks_plan(&choice, settings);

    for (int i = 0; i < count; i++)
        findings_add(f, FINDINGS_OK, "run sets", NULL, "%s=%.300s (%s: %s)", settings[i].variable,
                     settings[i].value, settings[i].framework, settings[i].why);
    findings_add(f, FINDINGS_OK, "allocator", NULL,
                 "PyTorch and TensorFlow do not return unused memory by default; with 'run "
                 "--allocator async' a job of one process returns it between iterations, but "
                 "cannot use CUDA IPC, NCCL or memory snapshots");
}
