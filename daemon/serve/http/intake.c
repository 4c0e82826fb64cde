/* SPDX-License-Identifier: Apache-2.0
 *
 * A body is read into memory that is as large as it was announced, so that it is copied once; what
 * is too large is refused by its headers. That of a request which is refused anyway is read all the
 * same, as clients send it before they look at the answer.
 */
#include "daemon/serve/http/intake.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/http/front_parts.h"

#define NO_LENGTH SIZE_MAX
#define HEAD_LENGTH "Inference-Header-Content-Length"
#define APPLICATION "Salus-Application"

static const char *header(const struct exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
}

/* Digits alone; NO_LENGTH where they are not, or too many. */
static size_t length_of(const char *text) {
    size_t n = 0;

    if (!*text) return NO_LENGTH;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || n > SIZE_MAX / 10 - 1) return NO_LENGTH;
        n = n * 10 + (size_t)(*text - '0');
    }
    return n;
}

/* ---- headers --------------------------------------------------------------------------------- */

static void check_route(struct exchange *x, const char *method, const char *path) {
    route_find(&x->route, path);
    if (x->front->stopping || x->conn.surplus) {
        x->why.retry_after_s = 1;
        refusal_say(&x->why, 503,
                    x->front->stopping ? "the server is stopping"
                                       : "too many connections: try again later");
    } else if (x->route.kind == ROUTE_NONE) {
        refusal_say(&x->why, 404,
                    "there is nothing at this path: see the Open Inference Protocol, /v2");
    } else if (!route_allows(x->route.kind, method)) {
        refusal_say(&x->why, 405, "%.16s is not possible here: %s", method,
                    route_methods(x->route.kind));
    }
}

/* "application/json; charset=utf-8" */
static bool is_type(const char *value, const char *type) {
    size_t n = strlen(type);
    return strncasecmp(value, type, n) == 0 && (value[n] == '\0' || strchr("; \t", value[n]));
}

static void check_type(struct exchange *x) {
    const char *type = header(x, "Content-Type"), *encoding = header(x, "Content-Encoding");

    if (encoding && strcasecmp(encoding, "identity") != 0)
        refusal_say(&x->why, 415, "Content-Encoding %.32s is not supported: send it as it is",
                    encoding);
    else if (type && !is_type(type, "application/json") &&
             !is_type(type, "application/octet-stream"))
        refusal_say(&x->why, 415,
                    "Content-Type %.64s is not supported: send application/json, or "
                    "application/octet-stream with binary data behind the JSON",
                    type);
}

/* Room for what is announced. */
static void take_room(struct exchange *x) {
    struct front *f = x->front;

    if (x->announced_bytes > f->limits.bodies_bytes - f->bodies_bytes) {
        x->why.retry_after_s = 1;
        refusal_say(&x->why, 503, "too much is being received: try again later");
        return;
    }
    x->body = malloc(x->announced_bytes + 1);
    if (x->body)
        f->bodies_bytes += x->announced_bytes;
    else
        refusal_memory(&x->why);
}

/* True: its body is not waited for. */
static bool check_length(struct exchange *x) {
    const char *length = header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);
    bool chunked = header(x, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;

    x->announced_bytes = length ? length_of(length) : 0;
    if (chunked) {
        refusal_say(&x->why, 411, "send a Content-Length: bodies in chunks are not supported");
        return true;
    }
    if (x->announced_bytes <= x->front->limits.body_bytes) return false;
    refusal_say(&x->why, 413, "a body of more than %zu bytes: send less at a time",
                x->front->limits.body_bytes);
    return true;
}

bool intake_head(struct exchange *x, const char *method, const char *path) {
    x->state = EXCHANGE_BODY;
    strncpy(x->method, method, sizeof(x->method) - 1);
    check_route(x, method, path);
    if (check_length(x)) return true;
    if (x->route.kind != ROUTE_INFER || x->why.status) return false;
    check_type(x);
    if (!x->why.status) take_room(x);
    return false;
}

void intake_piece(struct exchange *x, const char *data, size_t bytes) {
    if (x->body && bytes <= x->announced_bytes - x->body_bytes)
        memcpy(x->body + x->body_bytes, data, bytes);
    x->body_bytes += bytes;
}

/* ---- the request ----------------------------------------------------------------------------- */

const struct model *intake_model(struct exchange *x, const char **version) {
    const struct front *f = x->front;
    size_t count;
    const struct model *models = f->ops->models(f->arg, &count);
    const struct model *m = model_find(models, count, x->route.model);

    if (!m) {
        refusal_say(&x->why, 404, "there is no model \"%.64s\": POST /v2/repository/index says all",
                    x->route.model);
        return NULL;
    }
    *version = model_version(m, x->route.version);
    if (*version) return m;
    refusal_say(&x->why, 404, "model \"%.64s\" has no version \"%.64s\": see its metadata", m->name,
                x->route.version);
    return NULL;
}

/* The header, where the parameter is not there. */
static int take_application(struct exchange *x) {
    const char *a = header(x, APPLICATION);
    size_t bytes = a ? strlen(a) : 0;

    if (!a || x->request.application) return 0;
    for (size_t i = 0; i < bytes; i++)
        if (a[i] <= ' ' || a[i] > '~') bytes = 0;
    if (bytes == 0 || bytes > REQUEST_MAX_APPLICATION_BYTES)
        return refusal_say(&x->why, 400, APPLICATION " is 1 to %d characters of ASCII",
                           REQUEST_MAX_APPLICATION_BYTES);
    x->request.application = a;
    return 0;
}

static int parse(struct exchange *x) {
    const char *head = header(x, HEAD_LENGTH);
    struct request_body body = {x->body, x->body_bytes, REQUEST_NO_HEADER};

    if (head) body.head_bytes = length_of(head);
    if (head && body.head_bytes == NO_LENGTH)
        return refusal_say(&x->why, 400, HEAD_LENGTH " is no number of bytes: '%.32s'", head);
    return request_parse(&x->request, &body, &x->why);
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
    if (parse(x) || take_application(x)) return;
    request_bind(&x->request, m, version, &x->why);
}
