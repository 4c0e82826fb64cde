/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches allocated memory first, because most addresses are there.
 */
#include "shim/transfer/lookup.h"

#include "shim/connection/state.h"
#include "shim/host_memory/registered.h"
#include "shim/memory/placed.h"
#include "shim/memory/virtual.h"
#include "shim/transfer/stray.h"

bool lookup_block(uint64_t addr, struct mem_block *out) {
    return mem_find(addr, out) || virtual_find(addr, out) || placed_find(addr, out);
}

bool lookup_range(uint64_t addr, uint64_t bytes, struct mem_block *out) {
    if (!lookup_block(addr, out) || out->kind == MEM_POOL_FREE || out->kind == MEM_OWN)
        return false;
    if (bytes <= out->bytes - (addr - out->addr)) return true;
    return out->kind == MEM_MAPPED && virtual_covers(addr, bytes);
}

bool lookup_variable(uint64_t addr, uint64_t bytes) {
    const struct wire_windows *w = &state.conn.windows;
    if (addr && (stray_has(addr, bytes) || registered_device(addr, bytes) == addr)) return true;
    if (!conn_in_device(&state.conn, addr) || addr - w->dev_base < w->alloc_bytes) return false;
    return bytes <= w->dev_base + w->alloc_bytes + w->module_bytes - addr;
}
