/* SPDX-License-Identifier: Apache-2.0
 *
 * A body is read into memory of its announced length, directly by the kernel except for the first
 * bytes. A body that is too large is rejected by its head. The body of a rejected request is still
 * read, because clients send it before they read the response.
 */
#include "daemon/serve/http/intake.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/serve/http/front_parts.h"
#include "daemon/serve/infer/request_bind.h"

static const char *field(const struct exchange *x, enum head_field f) {
    return x->session.head.fields[f];
}

/* ---- headers --------------------------------------------------------------------------------- */

static void check_route(struct exchange *x) {
    const struct head *h = &x->session.head;

    route_find(&x->route, h->path);
    if (x->front->stopping || x->conn.surplus) {
        x->why.retry_after_s = 1;
        refusal_say(&x->why, 503,
                    x->front->stopping
                        ? "the server is stopping"
                        : "the server has as many connections as it allows: try again later");
    } else if (x->route.kind == ROUTE_NONE) {
        refusal_say(&x->why, 404,
                    "this path is unknown: paths of the Open Inference Protocol begin with /v2");
    } else if (!route_allows(x->route.kind, h->method)) {
        refusal_say(&x->why, 405, "method %.16s is not allowed for this path: use %s", h->method,
                    route_methods(x->route.kind));
    }
}

/* Matches the type in "application/json; charset=utf-8". */
static bool is_type(const char *value, const char *type) {
    size_t n = strlen(type);
    return strncasecmp(value, type, n) == 0 && (value[n] == '\0' || strchr("; \t", value[n]));
}

static void check_type(struct exchange *x) {
    const char *type = field(x, HEAD_TYPE), *encoding = field(x, HEAD_ENCODING);

    if (encoding && strcasecmp(encoding, "identity") != 0)
        refusal_say(&x->why, 415,
                    "Content-Encoding %.32s is not supported: send the body without encoding",
                    encoding);
    else if (type && !is_type(type, "application/json") &&
             !is_type(type, "application/octet-stream"))
        refusal_say(&x->why, 415,
                    "Content-Type %.64s is not supported: send application/json, or "
                    "application/octet-stream with binary data after the JSON",
                    type);
}

/* Copies the header fields that are needed after the body has arrived, when the head is gone. */
static void keep_fields(struct exchange *x) {
    const char *json = field(x, HEAD_JSON_BYTES), *a = field(x, HEAD_APPLICATION);
    size_t bytes = a ? strlen(a) : 0;

    if (json && (head_number(json, &x->json_bytes) || x->json_bytes == HEAD_TOO_LONG))
        refusal_say(&x->why, 400,
                    "Inference-Header-Content-Length '%.32s' is not a number of bytes", json);
    if (!a) return;
    for (size_t i = 0; i < bytes; i++)
        if (a[i] <= ' ' || a[i] > '~') bytes = 0;
    if (bytes == 0 || bytes > REQUEST_MAX_APPLICATION_BYTES)
        refusal_say(&x->why, 400,
                    "Salus-Application must have 1 to %d ASCII characters without blanks",
                    REQUEST_MAX_APPLICATION_BYTES);
    else
        memcpy(x->application, a, bytes + 1);
}

/* Returns true and sets the error if this many more bytes exceed the limit. */
static bool is_too_much(struct exchange *x, size_t bytes) {
    const struct front *f = x->front;

    if (bytes <= f->limits.bodies_bytes - f->bodies_bytes) return false;
    x->why.retry_after_s = 1;
    refusal_say(
        &x->why, 503,
        "the bodies being received have as many bytes as the server allows: try again later");
    return true;
}

/* Allocates the announced length. Bytes that have not arrived use no physical memory and are not
 * counted. */
static void take_room(struct exchange *x) {
    size_t bytes = x->session.head.body_bytes;

    if (is_too_much(x, bytes)) return;
    x->body = malloc(bytes + 1);
    if (!x->body) refusal_memory(&x->why);
}

void intake_count(struct exchange *x) {
    size_t more = x->session.body_bytes - x->body_bytes;

    if (is_too_much(x, more)) {
        exchange_drop(x);
        x->session.body = NULL;
        return;
    }
    x->body_bytes += more;
    x->front->bodies_bytes += more;
}

/* Returns true if the body is not read. */
static bool check_length(struct exchange *x) {
    if (field(x, HEAD_CODING)) {
        refusal_say(&x->why, 411, "bodies in chunks are not supported: send a Content-Length");
        return true;
    }
    if (x->session.head.body_bytes <= x->front->limits.body_bytes) return false;
    refusal_say(&x->why, 413, "the body has more than %zu bytes: send fewer inputs at a time",
                x->front->limits.body_bytes);
    return true;
}

bool intake_head(struct exchange *x) {
    const struct head *h = &x->session.head;

    x->state = EXCHANGE_BODY;
    x->expects = h->expects;
    exchange_name(x, h->method, h->path);
    check_route(x);
    if (check_length(x)) return true;
    if (x->route.kind == ROUTE_INFER && !x->why.status) {
        check_type(x);
        keep_fields(x);
        if (!x->why.status) take_room(x);
    }
    /* The client asked before sending the body, and is told no. */
    return x->why.status && x->expects;
}

/* ---- the request ----------------------------------------------------------------------------- */

const struct model *intake_model(struct exchange *x, const char **version) {
    const struct front *f = x->front;
    size_t count;
    const struct model *models = f->ops->models(f->arg, &count);
    const struct model *m = model_find(models, count, x->route.model);

    if (!m) {
        refusal_say(&x->why, 404,
                    "there is no model \"%.64s\": POST /v2/repository/index lists all models",
                    x->route.model);
        return NULL;
    }
    *version = model_version(m, x->route.version);
    if (*version) return m;
    refusal_say(&x->why, 404,
                "model \"%.64s\" has no version \"%.64s\": its metadata lists the versions",
                m->name, x->route.version);
    return NULL;
}

/* Makes the request from its body, reusing the previous request if the JSON is equal. */
static void take_request(struct exchange *x, const struct model *m, const char *version) {
    struct request_body body = exchange_body(x);
    struct request *r = &x->request;

    if (!previous_request_take(&x->before, &body, m, version, r) &&
        (request_parse(r, &body, &x->why) || request_bind(r, m, version, &x->why)))
        return;
    if (!r->application && *x->application) /* the request's own parameter has precedence */
        r->application = x->application;
}

void intake_request(struct exchange *x) {
    const struct front *f = x->front;
    const char *version;
    const struct model *m = intake_model(x, &version);

    if (!m) return;
    if (!f->ops->ready(f->arg, m)) {
        x->why.retry_after_s = 1;
        refusal_say(&x->why, 503, "model \"%.64s\" is not ready yet: try again later", m->name);
        return;
    }
    take_request(x, m, version);
}
