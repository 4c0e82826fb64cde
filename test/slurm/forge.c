/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's own SPANK plugin can give job_submit.lua any value in place of ours. This one gives the
 * value of FORGED.
 */
#include <slurm/spank.h>
#include <stdlib.h>

/* cppcheck-suppress unknownMacro */
SPANK_PLUGIN(forge, 1)

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv) {
    const char *text = getenv("FORGED");

    if (spank_context() != S_CTX_ALLOCATOR || !text) return 0;
    return spank_job_control_setenv(sp, "SALUS", text, 1) == ESPANK_SUCCESS ? 0 : -1;
}
