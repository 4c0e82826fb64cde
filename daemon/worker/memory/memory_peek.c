/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one cell of a client's memory, wherever the bytes are.
 */
#include "daemon/worker/memory/memory_peek.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/err.h"
#include "daemon/worker/memory/memory_page.h"
#include "daemon/worker/memory/memory_state.h"

/* Saved memory does not change; NULL is a granule of zeros. */
static uint64_t saved(const struct memory *m, const void *host, uint64_t addr, uint32_t bytes) {
    uint64_t value = 0;
    if (host) memcpy(&value, (const char *)host + (addr - m->base) % m->granule, bytes);
    return value;
}

/* Checks that a page has its own bytes. A page of the lane may have those of the client with the
 * turn. */
static int shows_own(const struct memory *m, const struct page *p) {
    if (!p->mapped) return m->swapped ? -EAGAIN : ERR_ILLEGAL_ADDRESS;
    if (p->state == PAGE_LANE && m->lane->holder != m) return -EAGAIN;
    return 0;
}

int memory_peek(const struct memory *m, uint64_t addr, uint32_t bytes, uint64_t *value) {
    uint32_t first, count;
    if (memory_touched(m, addr, bytes, &first, &count)) /* a module's variable */
        return m->ops->peek(m->space, addr, bytes, value);
    const struct page *p = &m->pages[first];
    const struct slot *s = p->state == PAGE_LANE ? &m->slots[p->slot] : NULL;
    if (p->state == PAGE_NONE) return ERR_ILLEGAL_ADDRESS;
    if (s && s->state == SLOT_SPILLED) return -EAGAIN;
    if (p->state == PAGE_SWAPPED || (s && s->state == SLOT_SPILLED_HOST)) {
        *value = saved(m, s ? s->host : p->host, addr, bytes);
        return 0;
    }
    int err = shows_own(m, p);
    if (err) return err;
    *value = 0;
    if (p->state == PAGE_LANE && !memory_slot_own(m, p->slot)) return 0;
    return m->ops->peek(m->space, addr, bytes, value);
}
