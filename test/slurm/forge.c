/* SPDX-License-Identifier: Apache-2.0
 *
 * What a user's own SPANK plugin can say to job_submit.lua in the place of ours: anything. Here it
 * is what stands in FORGED.
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
