/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses the first of the header's ways that is available.
 */
#include "shim/host_memory/page_exchange.h"

#include "shim/host_memory/page_block.h"
#include "shim/host_memory/shadow.h"
#include "shim/host_memory/threads.h"

void page_exchange_begin(struct calm *c, uint64_t lo, uint64_t hi, uint64_t patience_ns) {
    *c = (struct calm){.guard = SHADOW_ALONE};
    if (threads_count() == 1) return;
    c->guard = page_block_open();
    if (c->guard >= 0) return;
    c->made = quiescence_begin(&c->quiet, lo, hi, patience_ns);
    c->guard = c->made ? SHADOW_ALONE : SHADOW_BESIDE;
}

void page_exchange_end(struct calm *c) {
    if (c->made) quiescence_end(&c->quiet);
    if (c->guard >= 0) page_block_close(c->guard);
}
