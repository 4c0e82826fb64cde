/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may ask at all is the socket's file mode; who may change what, each verb says.
 */
#include "daemon/broker/control/verb.h"

#include "daemon/broker/control/verb_events.h"
#include "daemon/broker/control/verb_gpu.h"
#include "daemon/broker/control/verb_job.h"
#include "daemon/broker/control/verb_policy.h"
#include "daemon/broker/control/verb_profile.h"
#include "daemon/broker/control/verb_status.h"
#include "daemon/broker/control/verb_tenant.h"

static int (*const verbs[])(struct asking *q) = {
#define CTL_VERB(name, ...) [CTL_V_##name] = verb_##name,
#include "proto/control/ctl.def"
};

int verb_answer(struct asking *q) {
    return verbs[q->request->verb](q);
}

/* Only jobs and policies are the worker's to change. */
int verb_outcome(struct asking *q) {
    bool job = ctl_verb_info(q->request->verb)->record == CTL_RECORD_JOB;

    return job ? verb_job_show(q) : verb_policy_show(q);
}
