/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-only queries of a scheduler, for display, metrics and tests.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_VIEW_H
#define DAEMON_SERVE_PLAN_PLAN_VIEW_H

#include "daemon/serve/plan/types/plan_types.h"

/* A static string; "?" for an unknown number. */
const char *plan_fault_text(enum plan_fault fault);

struct plan_view {
    uint32_t pending, sent; /* numbers of requests */
    uint32_t workers, idle;
    double c0_ns, c1;  /* current fit (4.3) */
    uint64_t alone_ns; /* mean of the applications' mean times alone */
    uint64_t batch_ns[PLAN_SIZES], batch_tail_ns[PLAN_SIZES]; /* mean and 0.99 quantile, per size */
};

void plan_view(const struct plan *p, struct plan_view *out);

/* Times alone of an application's requests within the current windows. */
struct plan_alone {
    uint64_t count; /* if 0, the other members are 0 as well */
    uint64_t mean_ns, p50_ns, p99_ns;
};

/* `app`: below the configuration's number. */
void plan_alone(const struct plan *p, uint32_t app, struct plan_alone *out);

/* Checks the invariants. Returns NULL, or a static sentence about a violated one. */
const char *plan_check(const struct plan *p);

#endif
