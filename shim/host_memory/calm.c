/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses the first of the header's ways that is available.
 */
#include "shim/host_memory/calm.h"

#include "shim/host_memory/hold.h"
#include "shim/host_memory/shadow.h"
#include "shim/host_memory/threads.h"

void calm_begin(struct calm *c, uint64_t lo, uint64_t hi, uint64_t patience_ns) {
    *c = (struct calm){.guard = SHADOW_ALONE};
    if (threads_count() == 1) return;
    c->guard = hold_open();
    if (c->guard >= 0) return;
    c->made = quiet_begin(&c->quiet, lo, hi, patience_ns);
    c->guard = c->made ? SHADOW_ALONE : SHADOW_BESIDE;
}

void calm_end(struct calm *c) {
    if (c->made) quiet_end(&c->quiet);
    if (c->guard >= 0) hold_close(c->guard);
}
