/* SPDX-License-Identifier: Apache-2.0
 *
 * A lineup and a tournament of the same requests.
 */
#include "daemon/serve/plan/policy/viable.h"

int viable_reserve(struct viable *v, uint32_t places) {
    int err = lineup_reserve(&v->line, places);
    return err ? err : tournament_reserve(&v->rank, places);
}

void viable_finish(struct viable *v) {
    lineup_finish(&v->line);
    tournament_finish(&v->rank);
}

void viable_add(struct viable *v, uint32_t place, uint64_t deadline_ns, uint64_t until_ns,
                struct tournament_point point) {
    lineup_add(&v->line, place, deadline_ns, until_ns);
    tournament_add(&v->rank, place, point);
}

void viable_remove(struct viable *v, uint32_t place) {
    if (!lineup_has(&v->line, place)) return;
    lineup_remove(&v->line, place);
    tournament_remove(&v->rank, place);
}

const char *viable_check(const struct viable *v) {
    if (v->rank.count != lineup_count(&v->line))
        return "a queue's ranking differs from its requests";
    for (uint32_t i = 0; i < v->line.capacity; i++)
        if (lineup_has(&v->line, i) != tournament_has(&v->rank, i))
            return "a request is in only one half of a queue";
    const char *broken = tournament_check(&v->rank);
    return broken ? broken : lineup_check(&v->line);
}
