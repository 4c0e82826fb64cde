/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket's file mode decides who may ask; each verb decides who may change what.
 */
#include "daemon/broker/control/verb.h"

#include "daemon/broker/control/verb_events.h"
#include "daemon/broker/control/verb_gpu.h"
#include "daemon/broker/control/verb_job.h"
#include "daemon/broker/control/verb_policy.h"
#include "daemon/broker/control/verb_profile.h"
#include "daemon/broker/control/verb_status.h"
#include "daemon/broker/control/verb_user.h"

static int (*const verbs[])(struct control_request *q) = {
#define CTL_VERB(name, ...) [CTL_V_##name] = verb_##name,
#include "proto/control/ctl.def"
};

int verb_answer(struct control_request *q) {
    return verbs[q->request->verb](q);
}

/* Shows the result; only jobs and policies are changed by the worker. */
int verb_outcome(struct control_request *q) {
    bool job = ctl_verb_info(q->request->verb)->record == CTL_RECORD_JOB;

    return job ? verb_job_show(q) : verb_policy_show(q);
}
