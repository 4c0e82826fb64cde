/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of a few hundred flags; a scan is far cheaper than the handshake around it.
 */
#include "daemon/broker/jobs/slots.h"

#include <string.h>

/* ThreadSanitizer and MemorySanitizer place position-independent programs in the 1.5 TiB from here
 * on. Linux randomises the address, at least 0.3 TiB above the start, so the first slot is nearly
 * always free. */
#define PROGRAMS_BEGIN 0x550000000000ull

void slots_init(struct slots *s, const struct config *config) {
    uint64_t base = config->window_base, high = base;

    memset(s, 0, sizeof(*s));
    s->base = base;
    s->alloc_bytes = config->window_alloc_bytes;
    s->module_bytes = config->window_module_bytes;
    s->host_bytes = config->window_host_bytes;
    if (base < PROGRAMS_BEGIN) {
        s->low = (int)((PROGRAMS_BEGIN - base) / CONFIG_STRIDE_BYTES);
        high = PROGRAMS_BEGIN;
    }
    s->count = s->low + (int)((CONFIG_WINDOW_END - high) / CONFIG_STRIDE_BYTES);
    if (s->count > SLOTS_MAX) s->count = SLOTS_MAX;
}

static uint64_t start_of(const struct slots *s, int slot) {
    bool above = s->low && slot >= s->low;

    return above ? PROGRAMS_BEGIN + (uint64_t)(slot - s->low) * CONFIG_STRIDE_BYTES
                 : s->base + (uint64_t)slot * CONFIG_STRIDE_BYTES;
}

int slots_take(struct slots *s, int from) {
    for (int i = from; i < s->count; i++)
        if (!s->used[i] && !s->blocked[i]) {
            s->used[i] = true;
            return i;
        }
    return -1;
}

int slots_after(const struct slots *s, int slot) {
    return slot < s->low && s->low < s->count ? s->low : slot + 1;
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
    uint64_t start = start_of(s, slot);

    return (struct wire_windows){
        .dev_base = start,
        .alloc_bytes = s->alloc_bytes,
        .module_bytes = s->module_bytes,
        .host_base = start + s->alloc_bytes + s->module_bytes,
        .host_bytes = s->host_bytes,
    };
}
