/* SPDX-License-Identifier: Apache-2.0
 *
 * Recordings of the scheduler's events. The worker writes them; the file shows what became of one.
 */
#include "daemon/broker/control/verb_events.h"

#include "daemon/broker/control/verb_policy.h"

#define EVENTS_FOR_NS (24ull * 3600 * 1000000000) /* longest recording */

int verb_events_record(struct control_request *q) {
    struct wire_worker_msg msg = {.kind = WIRE_EVENTS, .for_ns = q->request->args.for_ns};
    int err = 0;
    struct gpu *g = control_request_gpu(q, &err);

    if (!control_request_admin(q))
        return control_request_refuse(q, CTL_E_NOT_PERMITTED,
                                      "only root and the daemon's user may record events",
                                      "see salusctl(1)");
    if (!g) return err;
    if (msg.for_ns > EVENTS_FOR_NS)
        return control_request_refuse(q, CTL_E_BAD_REQUEST, "for_ns exceeds one day",
                                      "see salusctl(1)");
    if (!worker_ready(&g->worker))
        return control_request_refuse(q, CTL_E_FAILED, "the GPU worker is not running",
                                      "see 'salusctl status'");
    channel_tell(&g->worker.channel, &msg, &q->in_fd, q->in_fd >= 0);
    return verb_policy_show(q);
}
