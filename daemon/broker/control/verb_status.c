/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the daemon itself.
 */
#include <stdio.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/broker/control/verb.h"
#include "proto/gen/calls.h"
#include "proto/version.h"

static const char *state_of(const struct worker *w) {
    if (worker_ready(w)) return "ok";
    return w->state == WORKER_FAILED ? "failed" : "degraded";
}

int verb_status(struct asking *q) {
    const struct broker *b = q->broker;
    struct ctl_status r = {.pid = (uint64_t)getpid(),
                           .uptime_ns = fdutil_now_ns() - b->start_ns,
                           .jobs = b->clients.running,
                           .max_jobs = b->config.max_jobs,
                           .connections = b->clients.count,
                           .gpus = 1,
                           .worker_restarts = b->worker.restarts};

    snprintf(r.state, sizeof(r.state), "%s", state_of(&b->worker));
    snprintf(r.version, sizeof(r.version), "%s", VERSION_TEXT);
    snprintf(r.run_dir, sizeof(r.run_dir), "%s", b->config.run_dir);
    snprintf(r.trouble, sizeof(r.trouble), "%s", b->worker.trouble);
    return asking_record(q, CTL_RECORD_STATUS, &r);
}

int verb_version(struct asking *q) {
    struct ctl_version r = {.control_protocol = CTL_PROTOCOL};

    snprintf(r.version, sizeof(r.version), "%s", VERSION_TEXT);
    snprintf(r.client_protocol, sizeof(r.client_protocol), "%d.%d", WIRE_MAJOR, WIRE_MINOR);
    snprintf(r.spec_hash, sizeof(r.spec_hash), "%016llx", (unsigned long long)CALL_SPEC_HASH);
    return asking_record(q, CTL_RECORD_VERSION, &r);
}
