/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of batches.
 */
#include "daemon/serve/plan/state/plan_state.h"

uint32_t plan_state_size_of(const struct plan_state *st, uint32_t count) {
    uint32_t size = 0;
    while (size + 1 < st->config.size_count && st->config.sizes[size + 1] <= count)
        size++;
    return size;
}

uint32_t plan_state_size_within(const struct plan_state *st, uint32_t count, uint64_t left_ns,
                                state_time_fn *time) {
    for (uint32_t size = plan_state_size_of(st, count) + 1; size-- > 0;)
        if (time(&st->outlook.size[size]) <= left_ns) return size;
    return STATE_NONE;
}
