/* SPDX-License-Identifier: Apache-2.0
 *
 * Three limits end the repetition: the failure is not yet in the note, the number of attempts is
 * bounded, and a GPU is large enough.
 */
#include "daemon/place/slurm/placer/memory_retry.h"

/* Memory of the largest GPU on a reporting node; 0 if no node reports. */
static uint64_t largest_gpu(const struct world *w) {
    uint64_t most = 0;

    for (size_t i = 0; i < w->node_count; i++) {
        const struct report *r = &w->nodes[i].report;

        if (!w->nodes[i].reported) continue;
        for (uint32_t g = 0; g < r->gpu_count; g++)
            if (r->gpus[g].memory_bytes > most) most = r->gpus[g].memory_bytes;
    }
    return most;
}

/* The additional memory counts as persistent, the larger claim, because the split is not known. A
 * job that requested no memory has no ephemeral part. */
static void raise_memory(struct ask *a, uint64_t bytes) {
    uint64_t ephemeral = a->mem_bytes - a->persistent_bytes;

    if (bytes <= a->mem_bytes) return;
    a->mem_bytes = bytes;
    a->persistent_bytes = bytes - ephemeral;
}

enum again memory_retry_judge(const struct world *w, const struct world_lack *lack,
                              struct note *next) {
    uint64_t most = largest_gpu(w), bytes = lack->needed_bytes + lack->needed_bytes / 4;

    if (lack->note.more && lack->note.lacked_ms == lack->at_ms) return MEMORY_RETRY_KNOWN;
    if (lack->note.more >= MEMORY_RETRY_TIMES_MOST) return MEMORY_RETRY_TOO_OFTEN;
    if (lack->needed_bytes > most) return MEMORY_RETRY_TOO_LARGE;
    *next = lack->note;
    raise_memory(&next->ask, bytes < most ? bytes : most);
    next->more++;
    next->lacked_ms = lack->at_ms;
    next->node[0] = '\0';
    return MEMORY_RETRY_YES;
}
