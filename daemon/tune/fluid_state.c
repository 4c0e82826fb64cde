/* SPDX-License-Identifier: Apache-2.0
 *
 * Estimates the progress of trials.
 */
#include "daemon/tune/fluid_state.h"

#include <math.h>

double fluid_state_rate(const struct salus_fluid *f, const struct trial *t) {
    if (t->state != SALUS_FLUID_RUNNING) return 0;
    return fluid_curve_rate(&t->curve, strips_part(&f->strips, t));
}

double fluid_state_end_ns(const struct salus_fluid *f, const struct trial *t) {
    if (t->state == SALUS_FLUID_WAITING) return INFINITY;
    double begins_ns = (double)f->now_ns;
    if (t->state == SALUS_FLUID_RESIZING) begins_ns = fmax(begins_ns, t->settles_ns);
    return begins_ns + t->left_ns / fluid_curve_rate(&t->curve, strips_part(&f->strips, t));
}

void fluid_state_wait(struct salus_fluid *f, uint32_t place) {
    struct trial *t = &f->trials.at[place];
    strips_free(&f->strips, t, place);
    f->waiting += t->state != SALUS_FLUID_WAITING;
    t->state = SALUS_FLUID_WAITING;
    t->share = 0;
    t->packed_most = t->packed_said;
    t->spread_most = t->spread_said;
}

struct shares_ask fluid_state_ask(const struct salus_fluid *f, uint32_t place) {
    const struct trial *t = &f->trials.at[place];
    return (struct shares_ask){.left_ns = t->left_ns,
                               .turn = t->turn,
                               .place = place,
                               .packed_most = t->packed_most,
                               .spread_most = t->spread_most,
                               .curve = t->curve};
}
