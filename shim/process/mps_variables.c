/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories of the service's pipes and logs are not in the list, because they do not ask for
 * a share.
 */
#include "shim/process/mps_variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/log.h"

static const struct {
    const char *name, *neutral; /* a value without effect */
} variables[] = {
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100"},
    {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", ""},
    {"CUDA_MPS_CLIENT_PRIORITY", "0"},
    {"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", "0"},
    {"CUDA_MPS_SM_PARTITION", ""},
};

int mps_variables_find(char names[MPS_VARIABLES_BYTES]) {
    size_t n = 0;
    int found = 0;

    names[0] = '\0';
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i].name);

        if (!value || !*value || strcmp(value, variables[i].neutral) == 0) continue;
        n += (size_t)snprintf(names + n, MPS_VARIABLES_BYTES - n, "%s%s=%.24s", found++ ? ", " : "",
                              variables[i].name, value);
    }
    return found;
}

void mps_variables_say(void) {
    static _Atomic uint32_t said;
    char names[MPS_VARIABLES_BYTES];

    if (mps_variables_find(names) == 0 || atom_exchange(&said, 1)) return;
    log_error("shim",
              "what=\"settings of MPS have no effect: %s\" why=\"Salus, not MPS, shares this GPU\" "
              "do=\"set a job's share with 'salusctl run --weight, --priority, --persistent'\"",
              names);
}
