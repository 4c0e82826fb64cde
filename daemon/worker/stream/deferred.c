/* SPDX-License-Identifier: Apache-2.0
 *
 * The deferred list of a client.
 */
#include "daemon/worker/stream/deferred.h"

void deferred_add(struct stream_set *set, struct op *op) {
    op->number = set->pushed;
    *set->deferred_last = op;
    set->deferred_last = &op->next;
    set->deferred_count++;
}

struct op *deferred_take(struct stream_set *set) {
    struct op *op = set->deferred;
    set->deferred = op->next;
    if (!set->deferred) set->deferred_last = &set->deferred;
    set->deferred_count--;
    return op;
}
