/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of a few hundred flags; a scan is cheaper than the handshake around it by far.
 */
#include "daemon/broker/jobs/slots.h"

#include <string.h>

void slots_init(struct slots *s, const struct config *config) {
    uint64_t room = (CONFIG_WINDOW_END - config->window_base) / CONFIG_STRIDE_BYTES;

    memset(s, 0, sizeof(*s));
    s->base = config->window_base;
    s->alloc_bytes = config->window_alloc_bytes;
    s->module_bytes = config->window_module_bytes;
    s->host_bytes = config->window_host_bytes;
    s->count = room < SLOTS_MAX ? (int)room : SLOTS_MAX;
}

int slots_take(struct slots *s, int from) {
    for (int i = from; i < s->count; i++)
        if (!s->used[i] && !s->blocked[i]) {
            s->used[i] = true;
            return i;
        }
    return -1;
}

void slots_put(struct slots *s, int slot) {
    s->used[slot] = false;
}

void slots_block(struct slots *s, int slot) {
    s->blocked[slot] = true;
}

void slots_unblock_all(struct slots *s) {
    memset(s->blocked, 0, sizeof(s->blocked));
}

struct wire_windows slots_windows(const struct slots *s, int slot) {
    uint64_t start = s->base + (uint64_t)slot * CONFIG_STRIDE_BYTES;

    return (struct wire_windows){
        .dev_base = start,
        .alloc_bytes = s->alloc_bytes,
        .module_bytes = s->module_bytes,
        .host_base = start + s->alloc_bytes + s->module_bytes,
        .host_bytes = s->host_bytes,
    };
}
