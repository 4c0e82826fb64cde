/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at a scheduler, for people, metrics and tests.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_VIEW_H
#define DAEMON_SERVE_PLAN_PLAN_VIEW_H

#include "daemon/serve/plan/types/plan_types.h"

/* Static; "?" for a number that is none. */
const char *plan_fault_text(enum plan_fault fault);

struct plan_view {
    uint32_t pending, sent; /* requests */
    uint32_t workers, idle;
    double c0_ns, c1;  /* as found (4.3) */
    uint64_t alone_ns; /* mean over the applications' requests alone */
    uint64_t batch_ns[PLAN_SIZES], batch_tail_ns[PLAN_SIZES]; /* mean and 0.99 quantile, by size */
};

void plan_view(const struct plan *p, struct plan_view *out);

/* Times alone of an application's requests, as far as they are not forgotten. */
struct plan_alone {
    uint64_t count; /* 0: and so is the rest */
    uint64_t mean_ns, p50_ns, p99_ns;
};

/* `app`: below the configuration's. */
void plan_alone(const struct plan *p, uint32_t app, struct plan_alone *out);

/* The invariants: NULL, or which one does not hold. */
const char *plan_check(const struct plan *p);

#endif
