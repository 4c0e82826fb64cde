/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks are records in the ring among the launches, so their position is exact. The worker adds up
 * the device's time before it reports an operation as complete, so a thread that waited for it sees
 * the sum.
 */
#include "shim/context/mark.h"

#include "common/log.h"
#include "proto/wire/wire.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/context/stream.h"
#include "shim/salus.h"

void mark_iteration(void) {
    if (state_live()) return;
    struct wire_ping rec = {.rec = {.op = WIRE_ITERATION}};
    submit_record(&rec, sizeof(rec), NULL, 0);
    log_debug("shim", "mark=iteration");
}

void mark_idle(void) {
    if (submit_launched() && stream_idle(NULL)) submit_idle();
}

void salus_iteration(void) {
    mark_iteration();
}

long long salus_device_ns(void) {
    if (state_live()) return -1;
    return (long long)atom_load_relaxed(&state.conn.completion->stats.busy_ns);
}
