/* SPDX-License-Identifier: Apache-2.0
 *
 * A request of the Open Inference Protocol, from its body to a struct that is checked. The body is
 * the caller's and stays as it is for as long as the request: binary tensors lie in it. What was
 * JSON the request owns. Pure; not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_REQUEST_H
#define DAEMON_SERVE_INFER_REQUEST_H

#include "daemon/serve/infer/model.h"

#define REQUEST_MAX_OUTPUTS 64
#define REQUEST_MAX_ID_BYTES 255
#define REQUEST_MAX_APPLICATION_BYTES 63
#define REQUEST_MAX_DEADLINE_MS 86400000.0 /* a day */

struct cJSON;

struct request_body {
    const void *data;
    size_t bytes;
    /* Of its JSON, by Inference-Header-Content-Length; REQUEST_NO_HEADER without that header, when
     * all of it is JSON. */
    size_t head_bytes;
};
#define REQUEST_NO_HEADER ((size_t)-1)

struct request_output {
    const char *name;
    bool binary; /* behind the answer's JSON, not in it */
};

struct request {
    const struct model *model; /* by request_bind; the server's */
    const char *version;       /* the model's own text */
    const char *id;            /* NULL: it has none */
    const char *application;   /* whose run times it is like; NULL: not said */
    uint64_t deadline_ns;      /* from its arrival; 0: the model's own */
    bool binary_output;        /* of outputs that do not say */
    struct tensor *inputs;
    uint32_t inputs_count;
    struct request_output *outputs; /* request_bind adds the model's where none was asked for */
    uint32_t outputs_count;

    struct cJSON *tree; /* the names are its */
    struct buf *own;    /* of each input, what was JSON */
};

/* 0, or -EINVAL or -ENOMEM and why; then there is nothing to finish. */
int request_parse(struct request *r, const struct request_body *body, struct refusal *why);

void request_finish(struct request *r);

#endif
