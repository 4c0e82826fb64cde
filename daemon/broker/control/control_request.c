/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds replies as msgpack (proto/control/ctl_msg.h).
 */
#include "daemon/broker/control/control_request.h"

#include <inttypes.h>
#include <stdio.h>

bool control_request_admin(const struct control_request *q) {
    return limits_admin(q->uid);
}

int control_request_reply(struct control_request *q, uint64_t next) {
    return ctl_msg_reply(q->out, next, &q->bytes, &q->n);
}

int control_request_record(struct control_request *q, enum ctl_record kind, const void *record) {
    ctl_msg_add(q->out, kind, record);
    return control_request_reply(q, 0);
}

int control_request_refuse(struct control_request *q, enum ctl_error error, const char *text,
                           const char *hint) {
    return ctl_msg_refusal(q->out, error, text, hint, &q->bytes, &q->n);
}

struct gpu *control_request_gpu(struct control_request *q, int *err) {
    bool given = ctl_msg_given(q->request, CTL_A_gpu);
    struct gpu *g = gpus_find(&q->broker->gpus, given ? q->request->args.gpu : 0);
    char text[80];

    if (g) return g;
    snprintf(text, sizeof(text), "salusd has no GPU %" PRIu64, q->request->args.gpu);
    *err = control_request_refuse(q, CTL_E_NOT_FOUND, text, "see 'salusctl gpu list'");
    return NULL;
}

int control_request_not_found(struct control_request *q, const char *what, const char *kind) {
    char text[80], hint[40];

    snprintf(text, sizeof(text), "salusd has no %s %" PRIu64, kind, q->request->args.id);
    snprintf(hint, sizeof(hint), "see 'salusctl %s list'", what);
    return control_request_refuse(q, CTL_E_NOT_FOUND, text, hint);
}
