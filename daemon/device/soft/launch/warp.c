/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins splits that reach the same pc, and composes the text of faults.
 */
#include "daemon/device/soft/launch/warp.h"

#include <stdio.h>

#include "common/err.h"
#include "daemon/device/soft/launch/block_state.h"

void warp_split_add(struct warp_ctx *x, struct frame *frame, int32_t pc, uint32_t mask,
                    enum split_state state, uint32_t bar) {
    if (!mask) return;
    for (uint32_t k = 0; state == SPLIT_RUN && k < x->split_count; k++) {
        struct split *s = &x->splits[k];
        if (s->state != SPLIT_RUN || s->pc != pc || s->frame != frame) continue;
        s->mask |= mask;
        return;
    }
    x->splits[x->split_count++] = (struct split){.frame = frame,
                                                 .order = warp_split_order(frame, pc),
                                                 .pc = pc,
                                                 .mask = mask,
                                                 .state = (uint8_t)state,
                                                 .bar = (uint8_t)bar};
}

void warp_fault(struct warp *w, const struct code_inst *i, uint32_t lane, int err, uint64_t addr,
                const char *what) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    struct block *b = x->block;
    x->stop = true;
    if (b->fault.err) return;
    b->fault.err = err;
    b->fault.addr = addr;
    char words[96];
    if (!what) {
        snprintf(words, sizeof(words),
                 err == ERR_MISALIGNED ? "address 0x%llx is misaligned"
                                       : "address 0x%llx is outside the client's memory",
                 (unsigned long long)addr);
        what = words;
    }
    snprintf(b->fault.text, sizeof(b->fault.text),
             "block (%u,%u,%u) thread (%u,%u,%u): %s at line %u of %s: %s", b->index[0],
             b->index[1], b->index[2], x->tid[0][lane & 31], x->tid[1][lane & 31],
             x->tid[2][lane & 31], i->src ? i->src->text : "ret", i->src ? i->src->line : 0,
             x->frame->func->ptx->name, what);
}
