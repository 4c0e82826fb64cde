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
                 "PyTorch and TensorFlow keep the memory that they once got; a job of one process "
                 "that shares a lane lends it to others between iterations with 'run --allocator "
                 "async', without CUDA IPC, NCCL and snapshots of memory");
}
