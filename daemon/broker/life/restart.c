/* SPDX-License-Identifier: Apache-2.0
 *
 * Implements the rules of restart.h.
 */
#include "daemon/broker/life/restart.h"

#include "common/fdutil.h"
#include "common/log.h"

#define NS_PER_MS 1000000u
#define OFTEN_DELAY_MS 1000 /* if the previous RESTART_OFTEN restarts were within a minute */
#define DELAY_FIRST 100ull  /* ms; doubles while no worker becomes ready */
#define DELAY_MAX 10000
#define SHORTAGE_DELAY_MS 500 /* time in which we may get descriptors or memory again */
#define OFTEN_NS (60ull * 1000000000u)

/* Doubles the pause with each failure. */
static uint64_t after_failure(struct restart *r) {
    uint64_t ms = DELAY_FIRST << (r->failures < 7 ? r->failures : 7);

    r->failures++;
    return ms < DELAY_MAX ? ms : DELAY_MAX;
}

uint64_t restart_delay_ms(struct restart *r, enum restart_cause cause) {
    uint64_t now = fdutil_now_ns(), *slot = &r->recent[r->count % RESTART_OFTEN], oldest = *slot;

    *slot = now;
    r->count++;
    if (cause == RESTART_SHORTAGE) return SHORTAGE_DELAY_MS;
    if (cause == RESTART_FAILED) return after_failure(r);
    if (oldest == 0 || now - oldest > OFTEN_NS) return RESTART_DELAY_MS;
    log_warn("worker", "event=restarts-often count=%d within_ms=%llu delay_ms=%d", RESTART_OFTEN,
             (unsigned long long)((now - oldest) / NS_PER_MS), OFTEN_DELAY_MS);
    return OFTEN_DELAY_MS;
}
