/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the daemon itself.
 */
#include "daemon/broker/control/verb_status.h"

#include <stdio.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "proto/gen/calls.h"
#include "proto/version.h"

static const char *state_of(const struct gpus *all) {
    if (gpus_any_ready(all)) return "ok";
    return gpus_given_up(all) ? "failed" : "degraded";
}

static void count_workers(const struct gpus *all, struct ctl_status *r) {
    r->gpus = all->count;
    for (uint32_t i = 0; i < all->count; i++) {
        r->gpus_ready += worker_ready(&all->items[i].worker);
        r->worker_restarts += all->items[i].worker.restarts;
        r->recovered += all->items[i].worker.recovered;
        r->lost += all->items[i].worker.lost;
        r->jobs += attachments_count_used(&all->items[i].attachments);
    }
}

int verb_status(struct control_request *q) {
    const struct broker *b = q->broker;
    struct ctl_status r = {.pid = (uint64_t)getpid(),
                           .uptime_ns = fdutil_now_ns() - b->start_ns,
                           .max_jobs = b->config.max_jobs,
                           .connections = b->clients.count};
    const struct gpu *bad = gpus_first_in_trouble(&b->gpus);

    count_workers(&b->gpus, &r);
    snprintf(r.state, sizeof(r.state), "%s", state_of(&b->gpus));
    snprintf(r.version, sizeof(r.version), "%s", VERSION_TEXT);
    snprintf(r.run_dir, sizeof(r.run_dir), "%s", b->config.run_dir);
    if (bad) gpus_print_trouble(&b->gpus, bad, r.trouble, sizeof(r.trouble));
    return control_request_record(q, CTL_RECORD_STATUS, &r);
}

int verb_version(struct control_request *q) {
    struct ctl_version r = {.control_protocol = CTL_PROTOCOL};

    snprintf(r.version, sizeof(r.version), "%s", VERSION_TEXT);
    snprintf(r.client_protocol, sizeof(r.client_protocol), "%d.%d", WIRE_MAJOR, WIRE_MINOR);
    snprintf(r.spec_hash, sizeof(r.spec_hash), "%016llx", (unsigned long long)CALL_SPEC_HASH);
    return control_request_record(q, CTL_RECORD_VERSION, &r);
}
