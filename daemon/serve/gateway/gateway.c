/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes the front's requests to their model.
 */
#include "daemon/serve/gateway/gateway.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/serve/gateway/served/served.h"
#include "daemon/serve/http/front.h"
#include "proto/version.h"

struct gateway {
    uv_loop_t *loop;
    const struct models_file *file;
    struct front *front;
    struct served *served[MODELS_FILE_MODELS]; /* in the order of file->models */
    uint32_t served_count;
    bool stopping;
};

/* ---- callbacks of the front ------------------------------------------------------------------ */

static const struct model *models(void *arg, size_t *count) {
    const struct gateway *g = arg;
    *count = g->file->count;
    return g->file->models;
}

static bool ready(void *arg, const struct model *m) {
    const struct gateway *g = arg;
    if (m) return served_ready(g->served[m - g->file->models]);
    for (uint32_t i = 0; i < g->served_count; i++)
        if (!served_ready(g->served[i])) return false;
    return true;
}

static void infer(void *arg, const struct request *r, struct front_reply *reply) {
    const struct gateway *g = arg;
    served_ask(g->served[r->model - g->file->models], r, reply);
}

static void gone(void *arg, struct front_reply *reply) {
    served_gone(reply->user);
}

static void metrics(void *arg, struct buf *text) {
    const struct gateway *g = arg;
    for (uint32_t index = 0;; index++)
        for (uint32_t i = 0; i < g->served_count; i++) {
            struct buf samples;
            buf_init(&samples);
            bool more = served_metric(g->served[i], index, &samples);
            if (more && i == 0) served_metric_head(index, text);
            buf_append(text, samples.data, samples.len);
            buf_finish(&samples);
            if (!more) return;
        }
}

static const struct front_ops ops = {.version = VERSION_TEXT,
                                     .models = models,
                                     .ready = ready,
                                     .infer = infer,
                                     .gone = gone,
                                     .metrics = metrics};

/* ---- start and stop -------------------------------------------------------------------------- */

static void forget(void *arg) {
    struct served **place = arg;
    served_destroy(*place);
    *place = NULL;
}

static void stop_models(struct gateway *g) {
    for (uint32_t i = 0; i < g->served_count; i++)
        served_stop(g->served[i], forget, &g->served[i]);
}

static void front_done(void *arg) {
    struct gateway *g = arg;
    front_destroy(g->front);
    g->front = NULL;
    stop_models(g);
}

void gateway_stop(struct gateway *g) {
    if (g->stopping) return;
    g->stopping = true;
    log_info("serve", "event=stopping");
    front_stop(g->front, front_done, g);
}

static int start(struct gateway *g, char *why, size_t why_bytes) {
    struct front_config config = {.address = g->file->address,
                                  .port = g->file->port,
                                  .limits = front_default_limits(),
                                  .ops = &ops,
                                  .arg = g};
    config.limits.connections = g->file->connections;
    for (uint32_t i = 0; i < g->file->count; i++) {
        int err = served_create(&g->served[i], g->loop, &g->file->models[i], &g->file->settings[i],
                                why, why_bytes);
        if (err) return err;
        g->served_count++;
    }
    return front_create(&g->front, g->loop, &config, why, why_bytes);
}

int gateway_create(struct gateway **out, uv_loop_t *loop, const struct models_file *file, char *why,
                   size_t why_bytes) {
    struct gateway *g = *out = calloc(1, sizeof(*g));
    if (!g) return -ENOMEM;
    g->loop = loop;
    g->file = file;
    int err = start(g, why, why_bytes);
    if (err) stop_models(g);
    return err;
}

uint16_t gateway_port(const struct gateway *g) {
    return front_port(g->front);
}

void gateway_destroy(struct gateway *g) {
    free(g);
}
