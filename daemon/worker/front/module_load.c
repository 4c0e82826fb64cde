/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads modules, functions and global variables.
 */
#include "daemon/worker/front/module_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/operations/client_end.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/replay/log_append.h"
#include "daemon/worker/replay/log_replay.h"
#include "daemon/worker/requests/deferred_request.h"
#include "daemon/worker/requests/memory_grant.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/residency/savepoint_writer.h"
#include "daemon/worker/stats.h"
#include "proto/wire/record.h"

#define MODULE_LOAD_WHY_BYTES 1024

/* ---- background tasks ------------------------------------------------------------------------ */

/* A background task for a client: the request and the result. */
struct loading {
    struct background_task background_task;
    struct client *client;
    const struct dev_ops *ops;
    void (*finish)(struct client *c, struct loading *l); /* called in the loop; frees the loading */
    /* MODULE_LOAD: image in the client's memory; NULL: `kept` is filled already */
    const void *image;
    void *kept;                  /* space for the image in the client's log; NULL: not logged */
    struct module *module, made; /* FUNC_GET: the function's module; MODULE_LOAD: the new module */
    struct dev_func *func;
    struct dev_func_info info;
    int err;
    bool placed; /* `made` is placed in the client's memory */
    char text[MODULE_LOAD_WHY_BYTES];
    _Alignas(8) unsigned char rec[]; /* wire_module_load, or wire_func_get and the name behind it */
};

static struct loading *new_loading(struct client *c, const void *rec, size_t bytes) {
    struct loading *l = calloc(1, sizeof(*l) + bytes);
    if (!l) return NULL;
    l->client = c;
    l->ops = c->worker->ops;
    memcpy(l->rec, rec, bytes);
    return l;
}

static void begin(struct loading *l, void (*run)(struct background_task *),
                  void (*finish)(struct client *, struct loading *), uint64_t image_bytes) {
    struct client *c = l->client;
    l->background_task.run = run;
    l->finish = finish;
    c->background_task = &l->background_task;
    c->throttled |= CLIENT_LOADS;
    c->worker->loads.count++;
    background_give(&c->worker->loads.background_tasks, &l->background_task,
                    object_line(image_bytes));
}

/* ---- modules --------------------------------------------------------------------------------- */

static void show_why(struct client *c, const struct wire_module_load *m, const char *text) {
    char *out = client_host(c, m->why, m->why_bytes);
    if (m->rec.ticket && out && m->why_bytes) snprintf(out, m->why_bytes, "%s", text);
}

static void refuse_load(struct client *c, const struct wire_module_load *m, int err,
                        const char *text) {
    if (!text[0]) text = err_text(err);
    show_why(c, m, text);
    log_append_refused(c);
    log_warn("module",
             "job=%u name=\"%s\" event=module-rejected module=%u bytes=%" PRIu64
             " error=%s text=\"%s\"",
             c->job_id, c->name, m->module, m->image_bytes, err_name(err), text);
    reply_status(&c->com, &m->rec, err);
}

/* Runs on a task's thread. The image is copied before it is parsed, because the client can still
 * write to the original. */
static void read_image(struct background_task *e) {
    struct loading *l = list_entry(e, struct loading, background_task);
    const struct wire_module_load *m = (const void *)l->rec;
    void *image = l->kept ? l->kept : malloc(m->image_bytes);
    l->err = image ? 0 : -ENOMEM;
    if (!image) return;
    if (l->image) memcpy(image, l->image, m->image_bytes);
    l->made.fingerprint = object_fingerprint(m->image_bytes, image, m->image_bytes);
    l->err = l->ops->module_read(l->client->space, m->capability, image, m->image_bytes,
                                 &l->made.dev, l->text, sizeof(l->text));
    if (!l->kept) free(image);
}

/* Places the module anew, or where an earlier worker had it. */
static int place(struct client *c, struct loading *l) {
    uint32_t count;
    const struct dev_granule *where = log_replay_place(c, l->made.id, &count);
    if (!c->replay.placed) return l->ops->module_place(l->made.dev, l->text, sizeof(l->text));
    return l->ops->recovery->module_place_at(l->made.dev, where, count, l->text, sizeof(l->text));
}

static void unplace(struct loading *l) {
    l->ops->module_remove(l->made.dev);
    l->placed = false;
}

/* Places the module in the client's memory. Its size is unknown before, so the memory is requested
 * afterwards. MEMORY_GRANT_WAITS: the function is called again. */
static int place_module(struct client *c, struct loading *l) {
    struct dev *dev = c->worker->dev;
    uint64_t before = l->ops->mem_used(dev);
    int err = 0;
    if (!l->placed) {
        err = place(c, l);
        if (err) return err;
        l->made.bytes = l->ops->mem_used(dev) - before;
        l->placed = true;
    }
    err = memory_grant_module(c, MEMORY_ASK_MODULE, l->made.bytes);
    if (!err || err == MEMORY_GRANT_WAITS) return err;
    memory_grant_refused(c, l->made.bytes);
    memory_grant_refusal(c, l->made.bytes, l->text, sizeof(l->text));
    unplace(l);
    return err;
}

static int keep_module(struct client *c, struct loading *l) {
    struct module *m = object_add_module(&c->objects, &l->made);
    if (m) return 0;
    unplace(l);
    memory_grant_module_gone(c, l->made.bytes);
    return -ENOMEM;
}

static void reply_module(struct client *c, const struct loading *l) {
    const struct wire_module_load *m = (const void *)l->rec;
    struct wire_module_reply reply = {l->ops->func_count(l->made.dev),
                                      l->ops->global_count(l->made.dev)};
    stats_add(&c->com.page->stats.modules, 1);
    reply_send(&c->com, &m->rec, 0, &reply, sizeof(reply));
}

/* Runs on a task's thread. */
static void free_read(struct background_task *e) {
    struct loading *l = list_entry(e, struct loading, background_task);
    l->ops->module_free(l->made.dev);
    free(l);
}

/* On failure the log keeps no place for the module, so that the next worker loads it anew. */
static int keep_variables(struct client *c, const struct module *m) {
    bool again = c->replay.active && c->replay.placed;
    return log_replay_variables(c, m) ? 0 : savepoint_writer_module(c, m, again);
}

static void say_loaded(struct client *c, struct loading *l) {
    log_append_module(c, &l->made);
    recovery_ask(&c->recovery_state, l->ops, c->space);
    reply_module(c, l);
}

static void finish_load(struct client *c, struct loading *l) {
    const struct wire_module_load *m = (const void *)l->rec;
    int err = c->com.fault ? c->com.fault : l->err;
    if (err && l->placed) unplace(l);
    if (!err) err = keep_module(c, l);
    if (!err) {
        if (!keep_variables(c, &l->made)) say_loaded(c, l);
        free(l);
        return;
    }
    log_replay_lost(c, m->module, l->text[0] ? l->text : err_text(err));
    refuse_load(c, m, err, l->text);
    l->background_task = (struct background_task){.run = free_read, .last = true};
    background_give(&c->worker->loads.background_tasks, &l->background_task,
                    object_line(m->image_bytes));
}

int module_load_begin(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_module_load *m = rec;
    const void *image = client_host(c, m->image, m->image_bytes);
    if (!image || (m->why_bytes && !client_host(c, m->why, m->why_bytes))) {
        snprintf(why, why_bytes, "the image of MODULE_LOAD is outside the host window");
        return ERR_PROTOCOL;
    }
    if (c->objects.modules[m->module]) {
        snprintf(why, why_bytes, "module %u is in use", m->module);
        return ERR_PROTOCOL;
    }
    int err = c->com.fault;
    if (!err && m->capability && !c->worker->ops->settings) err = -ENOTSUP;
    struct loading *l = err ? NULL : new_loading(c, m, sizeof(*m));
    if (!l) {
        refuse_load(c, m, err ? err : -ENOMEM, "");
        return 0;
    }
    l->kept = log_append_image(c);
    l->image = log_replay_has_image(c) ? NULL : image;
    l->made = (struct module){.ops = l->ops, .id = m->module, .image_bytes = m->image_bytes};
    begin(l, read_image, finish_load, m->image_bytes);
    return 0;
}

static struct module *find_module(struct client *c, uint32_t id, char *why, size_t why_bytes) {
    struct module *m = c->objects.modules[id];
    if (!m) snprintf(why, why_bytes, "module %u is not loaded", id);
    return m;
}

int module_load_unload(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_module_unload *u = rec;
    struct module *m = c->objects.modules[u->module];
    if (!m && c->com.fault) { /* unloaded with the context, or never loaded because of the fault */
        reply_status(&c->com, &u->rec, c->com.fault);
        return 0;
    }
    if (!find_module(c, u->module, why, why_bytes)) return ERR_PROTOCOL;
    object_forget(&c->objects, m);
    if (deferred_request_unload(c, m)) {
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
    if (!g->rec.ticket) return; /* it has the answer, and its buffer may be in other use */
    for (uint32_t i = 0; out && i < count; i++)
        out[i] = (struct wire_param){info->params[i].offset, info->params[i].bytes};
}

/* A kernel that asks for a larger cluster than possible is never launched. */
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
        .launches = info->launches,
    };
    reply_send(&c->com, &g->rec, 0, &reply, sizeof(reply));
}

/* Answers with the reason as text. */
static void refuse_func(struct client *c, const struct wire_func_get *g, int err,
                        const char *text) {
    log_append_refused(c);
    if (err != ERR_NOT_FOUND || *text) /* programs ask for names that may not exist */
        log_warn("module",
                 "job=%u name=\"%s\" event=kernel-rejected kernel=%.300s error=%s text=\"%s\"",
                 c->job_id, c->name, (const char *)(g + 1), err_name(err), text);
    reply_send(&c->com, &g->rec, err, text, (uint32_t)strlen(text) + 1);
}

/* Runs on a task's thread. */
static void get_func(struct background_task *e) {
    struct loading *l = list_entry(e, struct loading, background_task);
    const struct wire_func_get *g = (const void *)l->rec;
    l->err = l->ops->func_get(l->module->dev, (const char *)(g + 1), &l->func, &l->info, l->text,
                              WIRE_REPLY_BYTES);
}

static void keep_func(struct client *c, const struct loading *l) {
    const struct wire_func_get *g = (const void *)l->rec;
    int err = l->err;
    if (c->com.fault) {
        reply_status(&c->com, &g->rec, c->com.fault);
        return;
    }
    if (!err && !object_add_func(&c->objects, l->module, g, l->func, &l->info)) err = -ENOMEM;
    if (err) {
        refuse_func(c, g, err, l->text);
        return;
    }
    stats_add(&c->com.page->stats.functions, 1);
    put_params(c, g, &l->info);
    reply_func(c, g, &l->info);
}

static void finish_func(struct client *c, struct loading *l) {
    keep_func(c, l);
    free(l);
}

int module_load_func_get(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_func_get *g = rec;
    if (c->com.fault) {
        reply_status(&c->com, &g->rec, c->com.fault);
        return 0;
    }
    struct module *m = find_module(c, g->module, why, why_bytes);
    if (!m) return ERR_PROTOCOL;
    if (c->objects.funcs[g->func] ||
        (g->params_cap && !client_host(c, g->params, g->params_cap * sizeof(struct wire_param)))) {
        snprintf(why, why_bytes,
                 "function %u exists already, or the buffer for its parameters is outside the host "
                 "window",
                 g->func);
        return ERR_PROTOCOL;
    }
    struct loading *l = new_loading(c, g, sizeof(*g) + g->name_bytes);
    if (!l) {
        refuse_func(c, g, -ENOMEM, "");
        return 0;
    }
    l->module = m;
    begin(l, get_func, finish_func, m->image_bytes);
    return 0;
}

/* Writes the name, cut to the buffer including its NUL, into the host window, and answers with its
 * full length. */
int module_load_func_name_get(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_func_name *n = rec;
    if (c->com.fault) {
        reply_status(&c->com, &n->rec, c->com.fault);
        return 0;
    }
    struct module *m = find_module(c, n->module, why, why_bytes);
    char *out = client_host(c, n->buf, n->cap);
    if (!m) return ERR_PROTOCOL;
    if (!out && n->cap) {
        snprintf(why, why_bytes, "the buffer of FUNC_NAME is outside the host window");
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

int module_load_global_get(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_global_get *g = rec;
    struct wire_global_reply reply = {0};
    if (c->com.fault) {
        reply_status(&c->com, &g->rec, c->com.fault);
        return 0;
    }
    struct module *m = find_module(c, g->module, why, why_bytes);
    if (!m) return ERR_PROTOCOL;
    int err = c->worker->ops->global_get(m->dev, (const char *)(g + 1), &reply.addr, &reply.bytes);
    recovery_ask(&c->recovery_state, c->worker->ops, c->space);
    if (!err) savepoint_writer_address(c, reply.addr);
    reply_send(&c->com, &g->rec, err, &reply, err ? 0 : sizeof(reply));
    return 0;
}

/* ---- host memory ----------------------------------------------------------------------------- */

/* Runs on a task's thread. */
static void show_host(struct background_task *e) {
    struct loading *l = list_entry(e, struct loading, background_task);
    const struct wire_mem *m = (const void *)l->rec;
    l->err = l->ops->driver->host_show(l->client->space, m->addr, m->bytes);
}

static void finish_show(struct client *c, struct loading *l) {
    if (l->err) fault_raise(c, l->err, "the driver cannot map pinned memory on the device");
    free(l);
}

int module_load_show(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_mem *m = rec;
    const struct dev_ops *ops = c->worker->ops;
    if (!client_host(c, m->addr, m->bytes)) {
        snprintf(why, why_bytes, "0x%" PRIx64 "+0x%" PRIx64 " is not in the host window", m->addr,
                 m->bytes);
        return ERR_PROTOCOL;
    }
    if (client_dead(c) || !ops->driver || ops->driver->host_shown(c->space, m->addr, m->bytes))
        return 0;
    struct loading *l = new_loading(c, m, sizeof(*m));
    if (l)
        begin(l, show_host, finish_show, 0);
    else
        fault_raise(c, -ENOMEM, "the GPU worker is out of memory to map pinned memory");
    return 0;
}

/* ---- completed tasks ------------------------------------------------------------------------- */

/* A client that is swapped out has no memory for a module. A module may need more than the client
 * was granted, which exists only once all moves are done. */
static bool may_finish(const struct background_task *e) {
    const struct loading *l = list_entry(e, struct loading, background_task);
    const struct client *c = l->client;
    if (client_dead(c)) return true;
    if (c->throttled & CLIENT_OUT || c->moves) return false;
    if (memory_ask_pending(&c->asks[MEMORY_ASK_MODULE])) return false;
    return l->finish != finish_load || !memory_move_any(c->worker);
}

/* False: the scheduler is asked for the module's memory, and its answer resumes the load. */
static bool has_memory(struct client *c, struct loading *l) {
    if (l->finish != finish_load || l->err || client_dead(c)) return true;
    int err = place_module(c, l);
    if (err == MEMORY_GRANT_WAITS) return false;
    l->err = err;
    return true;
}

static void finish(struct worker *w, struct loading *l) {
    struct client *c = l->client;
    list_remove(&l->background_task.link);
    memory_ask_end(&c->asks[MEMORY_ASK_MODULE]);
    w->loads.count--;
    c->background_task = NULL;
    c->throttled &= (uint8_t)~CLIENT_LOADS;
    l->finish(c, l);
    if (c->abandoned && !client_busy(c)) client_end_release(c);
}

/* Only one module at a time is placed beyond its client's grant: others finish after it. */
static unsigned finish_some(struct worker *w) {
    unsigned count = 0;
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &w->loads.back) {
        struct background_task *e = list_entry(pos, struct background_task, link);
        struct loading *l = list_entry(e, struct loading, background_task);
        if (!may_finish(e)) continue;
        count++;
        if (!has_memory(l->client, l)) break;
        finish(w, l);
    }
    return count;
}

/* The answer goes to the load that asked, before any other load continues. */
static void resume_load(struct client *c) {
    struct worker *w = c->worker;
    struct loading *l = list_entry(c->background_task, struct loading, background_task);
    if (has_memory(c, l)) finish(w, l);
    finish_some(w);
}

unsigned module_load_collect(struct worker *w) {
    for (struct background_task *e; (e = background_take(&w->loads.background_tasks));) {
        struct client *c = list_entry(e, struct loading, background_task)->client;
        c->asks[MEMORY_ASK_MODULE].resume = resume_load;
        list_append(&w->loads.back, &e->link);
    }
    return finish_some(w);
}

bool module_load_pending(const struct worker *w) {
    const struct list *pos;
    list_each(pos, &w->loads.back) if (may_finish(list_entry(pos, struct background_task,
                                                             link))) return true;
    return false;
}

bool module_load_arm(struct worker *w) {
    return !w->loads.background_tasks.away || background_arm(&w->loads.background_tasks);
}
