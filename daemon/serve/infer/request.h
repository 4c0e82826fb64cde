/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a request of the Open Inference Protocol from its body into a checked struct. The body is
 * the caller's and must stay unchanged as long as the request, because binary tensors point into
 * it. Data converted from JSON belongs to the request. Pure; not thread-safe.
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
    /* Length of the JSON from Inference-Header-Content-Length; REQUEST_NO_HEADER without that
     * header, when the whole body is JSON. */
    size_t head_bytes;
};
#define REQUEST_NO_HEADER ((size_t)-1)

struct request_output {
    const char *name;
    bool binary; /* sent behind the response's JSON, not within it */
};

struct request {
    const struct model *model; /* set by request_bind; belongs to the server */
    const char *version;       /* the model's own string */
    const char *id;            /* NULL: none */
    /* Requests of one application have similar run times; NULL: not given. */
    const char *application;
    uint64_t deadline_ns; /* relative to the arrival; 0: the model's default */
    bool binary_output;   /* default for outputs that do not specify it */
    struct tensor *inputs;
    uint32_t inputs_count;
    /* If none is requested, request_bind adds all outputs of the model. */
    struct request_output *outputs;
    uint32_t outputs_count;

    struct cJSON *tree; /* owns the names */
    struct buf *own;    /* per input: the bytes converted from JSON */
};

/* Returns 0, or -EINVAL or -ENOMEM with the error in `why`; then there is nothing to finish. */
int request_parse(struct request *r, const struct request_body *body, struct refusal *why);

void request_finish(struct request *r);

#endif
