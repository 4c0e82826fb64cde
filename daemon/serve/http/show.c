/* SPDX-License-Identifier: Apache-2.0
 *
 * Each answer is a short text that is created anew.
 */
#include "daemon/serve/http/show.h"

#include <string.h>

#include "daemon/serve/http/front_parts.h"
#include "daemon/serve/http/intake.h"
#include "daemon/serve/infer/text.h"

#define JSON "application/json"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void write_server(const struct front *f, struct buf *json) {
    buf_printf(json, "{\"name\":\"salus-serve\",\"version\":");
    text_write(json, f->ops->version, strlen(f->ops->version));
    buf_printf(json, ",\"extensions\":[\"binary_tensor_data\",\"model_configuration\","
                     "\"model_repository\"]}");
}

static void write_index(const struct front *f, struct buf *json) {
    size_t count;
    const struct model *models = f->ops->models(f->arg, &count);

    buf_append(json, "[", 1);
    for (size_t i = 0; i < count; i++) {
        if (i) buf_append(json, ",", 1);
        model_write_index(&models[i], f->ops->ready(f->arg, &models[i]), json);
    }
    buf_append(json, "]", 1);
}

/* Answers with an empty body if ready. */
static void readiness(struct exchange *x, const struct model *m) {
    const struct front *f = x->front;
    struct buf none;

    if (f->ops->ready(f->arg, m)) {
        buf_init(&none);
        exchange_respond(x, 200, JSON, &none);
        return;
    }
    x->why.retry_after_s = 1;
    refusal_say(&x->why, 503, "%s%s%s not ready yet: try again later", m ? "model \"" : "",
                m ? m->name : "the server is", m ? "\" is" : "");
}

static void of_model(struct exchange *x) {
    const char *version;
    const struct model *m = intake_model(x, &version);
    struct buf json;

    if (!m) return;
    if (x->route.kind == ROUTE_MODEL_READY) {
        readiness(x, m);
        return;
    }
    buf_init(&json);
    if (x->route.kind == ROUTE_MODEL_CONFIG)
        model_write_config(m, &json);
    else
        model_write_metadata(m, &json);
    exchange_respond(x, 200, JSON, &json);
}

void show_route(struct exchange *x) {
    const struct front *f = x->front;
    const char *type = JSON;
    struct buf text;

    buf_init(&text);
    switch (x->route.kind) {
    case ROUTE_MODEL:
    case ROUTE_MODEL_READY:
    case ROUTE_MODEL_CONFIG: of_model(x); return;
    case ROUTE_READY: readiness(x, NULL); return;
    case ROUTE_SERVER: write_server(f, &text); break;
    case ROUTE_INDEX: write_index(f, &text); break;
    case ROUTE_METRICS:
        type = METRICS_TYPE;
        f->ops->metrics(f->arg, &text);
        break;
    default: break; /* liveness: an empty body */
    }
    exchange_respond(x, 200, type, &text);
}
