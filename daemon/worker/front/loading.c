/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules, functions, global variables.
 */
#include "daemon/worker/front/loading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/allowance.h"
#include "daemon/worker/engine/defer.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/stats.h"
#include "proto/record.h"

#define LOADING_WHY_BYTES 1024
/* Of an image from here on the broker is told that it keeps the loop; time for each MiB of it. */
#define LOADING_LARGE_BYTES (4u << 20)
#define LOADING_MIB_NS 1000000000ull

/* Reading the image, or any kernel of it, may take all of it: of NCCL, with 180 MiB, ten seconds
 * where nobody else computes. Whoever waits for a beat must not take that for a worker that hangs.
 */
static void tell_busy(struct client *c, uint64_t image_bytes) {
    if (image_bytes < LOADING_LARGE_BYTES) return;
    broker_link_busy(&c->worker->link, (image_bytes >> 20) * LOADING_MIB_NS);
}

/* ---- modules --------------------------------------------------------------------------------- */

static void show_why(struct client *c, const struct wire_module_load *m, const char *text) {
    char *out = client_host(c, m->why, m->why_bytes);
    if (out && m->why_bytes) snprintf(out, m->why_bytes, "%s", text);
}

/* The image is copied before anybody looks at it: the client can still write to the original. */
static int copy_image(struct client *c, const struct wire_module_load *m, const void *shared,
                      struct module *out, char *text, size_t cap) {
    const struct dev_ops *ops = c->worker->ops;
    if (m->capability && !ops->space_capability) return -ENOTSUP;
    void *image = malloc(m->image_bytes);
    if (!image) return -ENOMEM;
    memcpy(image, shared, m->image_bytes);
    tell_busy(c, m->image_bytes);
    uint64_t before = ops->mem_used(c->worker->dev);
    int err =
        ops->module_load(c->space, m->capability, image, m->image_bytes, &out->dev, text, cap);
    uint64_t after = ops->mem_used(c->worker->dev);
    out->fingerprint = object_fingerprint(m->image_bytes, image, m->image_bytes);
    free(image);
    if (err) return err;
    out->bytes = after > before ? after - before : 0;
    err = allowance_module(c, out->bytes); /* its size is not known before */
    if (!err) return 0;
    allowance_refusal(c, out->bytes, text, (uint32_t)cap);
    ops->module_unload(out->dev);
    return err;
}

static int reply_module(struct client *c, const struct wire_module_load *rec,
                        const struct module *loaded) {
    const struct dev_ops *ops = c->worker->ops;
    struct module *m = object_add_module(&c->objects, loaded);
    if (!m) {
        ops->module_unload(loaded->dev);
        allowance_module_gone(c, loaded->bytes);
        return -ENOMEM;
    }
    stats_add(&c->com.page->stats.modules, 1);
    struct wire_module_reply reply = {ops->func_count(m->dev), ops->global_count(m->dev)};
    reply_send(&c->com, &rec->rec, 0, &reply, sizeof(reply));
    return 0;
}

int loading_load(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_module_load *m = rec;
    struct module loaded = {.id = m->module, .image_bytes = m->image_bytes};
    char text[LOADING_WHY_BYTES] = "";
    const void *image = client_host(c, m->image, m->image_bytes);
    if (!image || (m->why_bytes && !client_host(c, m->why, m->why_bytes))) {
        snprintf(why, why_bytes, "MODULE_LOAD outside the host window");
        return ERR_PROTOCOL;
    }
    if (c->objects.modules[m->module]) {
        snprintf(why, why_bytes, "module %u is in use", m->module);
        return ERR_PROTOCOL;
    }
    int err = c->com.fault ? c->com.fault : copy_image(c, m, image, &loaded, text, sizeof(text));
    if (!err) err = reply_module(c, m, &loaded);
    if (!err) return 0;
    if (!text[0]) snprintf(text, sizeof(text), "%s", err_text(err));
    show_why(c, m, text);
    log_warn("module", "job=%u name=\"%s\" module=%u bytes=%" PRIu64 " error=%s text=\"%s\"",
             c->job_id, c->name, m->module, m->image_bytes, err_name(err), text);
    reply_status(&c->com, &m->rec, err);
    return 0;
}

static struct module *find_module(struct client *c, uint32_t id, char *why, size_t why_bytes) {
    struct module *m = c->objects.modules[id];
    if (!m) snprintf(why, why_bytes, "module %u is not loaded", id);
    return m;
}

int loading_unload(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_module_unload *u = rec;
    struct module *m = c->objects.modules[u->module];
    if (!m &&
        c->com.fault) { /* it went with the context, or was never loaded because of the fault */
        reply_status(&c->com, &u->rec, c->com.fault);
        return 0;
    }
    if (!find_module(c, u->module, why, why_bytes)) return ERR_PROTOCOL;
    object_forget(&c->objects, m);
    if (defer_unload(c, m)) {
        snprintf(why, why_bytes, "out of memory");
        return ERR_PROTOCOL;
    }
    reply_status(&c->com, &u->rec, 0);
    return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void put_params(struct client *c, const struct wire_func_get *g,
                       const struct dev_func_info *info) {
    uint32_t count = info->param_count < g->params_cap ? info->param_count : g->params_cap;
    struct wire_param *out = client_host(c, g->params, count * sizeof(*out));
    for (uint32_t i = 0; out && i < count; i++)
        out[i] = (struct wire_param){info->params[i].offset, info->params[i].bytes};
}

/* A kernel that asks for more than there can be is never launched. */
static uint16_t cluster_of(const struct dev_func_info *info) {
    const uint32_t *n = info->req_cluster;
    for (int axis = 0; n[0] && axis < 3; axis++)
        if (n[axis] - 1 >= WIRE_CLUSTER_MAX) return UINT16_MAX;
    return n[0] ? wire_cluster_flags(n[0], n[1], n[2]) : 0;
}

static void reply_func(struct client *c, const struct wire_func_get *g,
                       const struct dev_func_info *info) {
    struct wire_func_reply reply = {
        .param_count = info->param_count,
        .param_bytes = info->param_bytes,
        .regs = info->regs,
        .shared_bytes = info->shared_bytes,
        .local_bytes = info->local_bytes,
        .const_bytes = info->const_bytes,
        .max_threads = info->max_threads,
        .ptx_version = info->ptx_version,
        .binary_version = info->binary_version,
        .req_block = {info->req_block[0], info->req_block[1], info->req_block[2]},
        .cluster = cluster_of(info),
        .cluster_must = info->must_cluster,
        .max_cluster = info->max_cluster,
    };
    reply_send(&c->com, &g->rec, 0, &reply, sizeof(reply));
}

/* The answer is the reason, as text. */
static void refuse_func(struct client *c, const struct wire_func_get *g, int err,
                        const char *text) {
    if (err != ERR_NOT_FOUND || *text) /* programs ask for names that may be there */
        log_warn("module", "job=%u name=\"%s\" kernel=%.300s error=%s text=\"%s\"", c->job_id,
                 c->name, (const char *)(g + 1), err_name(err), text);
    reply_send(&c->com, &g->rec, err, text, (uint32_t)strlen(text) + 1);
}

int loading_func_get(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_func_get *g = rec;
    struct dev_func *dev;
    struct dev_func_info info = {0};
    char text[WIRE_REPLY_BYTES] = "";
    if (c->com.fault) {
        reply_status(&c->com, &g->rec, c->com.fault);
        return 0;
    }
    struct module *m = find_module(c, g->module, why, why_bytes);
    if (!m) return ERR_PROTOCOL;
    if (c->objects.funcs[g->func] ||
        (g->params_cap && !client_host(c, g->params, g->params_cap * sizeof(struct wire_param)))) {
        snprintf(why, why_bytes,
                 "function %u is in use, or its parameters' place is not in the "
                 "host window",
                 g->func);
        return ERR_PROTOCOL;
    }
    tell_busy(c, m->image_bytes);
    int err =
        c->worker->ops->func_get(m->dev, (const char *)(g + 1), &dev, &info, text, sizeof(text));
    if (!err && !object_add_func(&c->objects, m, g, dev, &info)) err = -ENOMEM;
    if (err) {
        refuse_func(c, g, err, text);
        return 0;
    }
    stats_add(&c->com.page->stats.functions, 1);
    put_params(c, g, &info);
    reply_func(c, g, &info);
    return 0;
}

/* The name, cut to the room with its NUL, into the host window; its full length as the answer. */
int loading_func_name_get(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_func_name *n = rec;
    if (c->com.fault) {
        reply_status(&c->com, &n->rec, c->com.fault);
        return 0;
    }
    struct module *m = find_module(c, n->module, why, why_bytes);
    char *out = client_host(c, n->buf, n->cap);
    if (!m) return ERR_PROTOCOL;
    if (!out && n->cap) {
        snprintf(why, why_bytes, "FUNC_NAME outside the host window");
        return ERR_PROTOCOL;
    }
    if (n->index >= c->worker->ops->func_count(m->dev)) {
        reply_status(&c->com, &n->rec, ERR_NOT_FOUND);
        return 0;
    }
    const char *name = c->worker->ops->func_name(m->dev, n->index);
    uint32_t length = (uint32_t)strlen(name);
    if (n->cap) snprintf(out, n->cap, "%s", name);
    reply_send(&c->com, &n->rec, 0, &length, sizeof(length));
    return 0;
}

int loading_global_get(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_global_get *g = rec;
    struct wire_global_reply reply = {0};
    if (c->com.fault) {
        reply_status(&c->com, &g->rec, c->com.fault);
        return 0;
    }
    struct module *m = find_module(c, g->module, why, why_bytes);
    if (!m) return ERR_PROTOCOL;
    int err = c->worker->ops->global_get(m->dev, (const char *)(g + 1), &reply.addr, &reply.bytes);
    reply_send(&c->com, &g->rec, err, &reply, err ? 0 : sizeof(reply));
    return 0;
}
