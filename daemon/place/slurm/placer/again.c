/* SPDX-License-Identifier: Apache-2.0
 *
 * Three bounds, so that nobody comes back for ever: the end is another one than the note has, it is
 * not too often, and there is a GPU for it.
 */
#include "daemon/place/slurm/placer/again.h"

/* Of nodes that report; 0: none does. */
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

/* What is more is taken to be persistent: which of both it is nobody knows, and that is the larger
 * claim. A job that said nothing has no part of an iteration. */
static void raise_memory(struct ask *a, uint64_t bytes) {
    uint64_t ephemeral = a->mem_bytes - a->persistent_bytes;

    if (bytes <= a->mem_bytes) return;
    a->mem_bytes = bytes;
    a->persistent_bytes = bytes - ephemeral;
}

enum again again_judge(const struct world *w, const struct world_lack *lack, struct note *next) {
    uint64_t most = largest_gpu(w), bytes = lack->needed_bytes + lack->needed_bytes / 4;

    if (lack->note.more && lack->note.lacked_ms == lack->at_ms) return AGAIN_KNOWN;
    if (lack->note.more >= AGAIN_TIMES_MOST) return AGAIN_TOO_OFTEN;
    if (lack->needed_bytes > most) return AGAIN_TOO_LARGE;
    *next = lack->note;
    raise_memory(&next->ask, bytes < most ? bytes : most);
    next->more++;
    next->lacked_ms = lack->at_ms;
    next->node[0] = '\0';
    return AGAIN_YES;
}
