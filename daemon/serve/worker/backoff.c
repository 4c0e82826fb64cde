/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve/worker/backoff.h"

uint64_t backoff_next_ns(struct backoff *b, uint64_t ready_ns) {
    uint64_t pause_ns = b->next_ns && ready_ns < b->reset_ns ? b->next_ns : b->first_ns;

    b->next_ns = pause_ns < b->most_ns / 2 ? 2 * pause_ns : b->most_ns;
    return pause_ns;
}
